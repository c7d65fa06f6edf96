namespace Grpc.Core;

public class WriteOptions
{
    public static readonly WriteOptions Default = new();

    public WriteOptions(WriteFlags flags = default)
    {
        Flags = flags;
    }

    public WriteFlags Flags { get; }
}
