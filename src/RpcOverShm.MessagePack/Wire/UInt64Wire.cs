namespace RpcOverShm.MessagePack.Wire;

/// <summary>uint64, fixed64</summary>
internal readonly struct UInt64Wire : IScalarWire<ulong>
{
    public static ulong Default => 0;

    public static bool IsDefault(ulong value) => value == 0;

    public static long Size(ulong value) => WireSize.Unsigned(value);

    public static void Write(ref MessageWriter writer, ulong value) => writer.WriteUnsigned(value);

    public static ulong Read(ref MessageReader reader) => reader.ReadUInt64();
}
