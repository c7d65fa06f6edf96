namespace RpcOverShm.MessagePack.Wire;

/// <summary>int32, sint32, sfixed32</summary>
internal readonly struct Int32Wire : IScalarWire<int>
{
    public static int Default => 0;

    public static bool IsDefault(int value) => value == 0;

    public static long Size(int value) => WireSize.Signed(value);

    public static void Write(ref MessageWriter writer, int value) => writer.WriteSigned(value);

    public static int Read(ref MessageReader reader) => reader.ReadInt32();
}
