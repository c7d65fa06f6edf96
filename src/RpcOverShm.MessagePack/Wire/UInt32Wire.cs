namespace RpcOverShm.MessagePack.Wire;

/// <summary>uint32, fixed32</summary>
internal readonly struct UInt32Wire : IScalarWire<uint>
{
    public static uint Default => 0;

    public static bool IsDefault(uint value) => value == 0;

    public static long Size(uint value) => WireSize.Unsigned(value);

    public static void Write(ref MessageWriter writer, uint value) => writer.WriteUnsigned(value);

    public static uint Read(ref MessageReader reader) => reader.ReadUInt32();
}
