namespace RpcOverShm.MessagePack.Wire;

/// <summary>double</summary>
internal readonly struct DoubleWire : IScalarWire<double>
{
    public static double Default => 0;

    // By its bits: -0.0 is written.
    public static bool IsDefault(double value) => BitConverter.DoubleToUInt64Bits(value) == 0;

    public static long Size(double value) => WireSize.Float64;

    public static void Write(ref MessageWriter writer, double value) => writer.WriteDouble(value);

    public static double Read(ref MessageReader reader) => reader.ReadDouble();
}
