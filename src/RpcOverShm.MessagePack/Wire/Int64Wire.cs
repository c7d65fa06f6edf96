namespace RpcOverShm.MessagePack.Wire;

/// <summary>int64, sint64, sfixed64</summary>
internal readonly struct Int64Wire : IScalarWire<long>
{
    public static long Default => 0;

    public static bool IsDefault(long value) => value == 0;

    public static long Size(long value) => WireSize.Signed(value);

    public static void Write(ref MessageWriter writer, long value) => writer.WriteSigned(value);

    public static long Read(ref MessageReader reader) => reader.ReadInt64();
}
