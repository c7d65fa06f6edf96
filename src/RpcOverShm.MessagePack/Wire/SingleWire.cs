namespace RpcOverShm.MessagePack.Wire;

/// <summary>float</summary>
internal readonly struct SingleWire : IScalarWire<float>
{
    public static float Default => 0;

    // By its bits: -0.0 is written.
    public static bool IsDefault(float value) => BitConverter.SingleToUInt32Bits(value) == 0;

    public static long Size(float value) => WireSize.Float32;

    public static void Write(ref MessageWriter writer, float value) => writer.WriteSingle(value);

    public static float Read(ref MessageReader reader) => reader.ReadSingle();
}
