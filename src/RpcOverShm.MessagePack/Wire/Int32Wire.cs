using System.Runtime.CompilerServices;
using Google.Protobuf;

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

/// <summary>int64, sint64, sfixed64</summary>
internal readonly struct Int64Wire : IScalarWire<long>
{
    public static long Default => 0;

    public static bool IsDefault(long value) => value == 0;

    public static long Size(long value) => WireSize.Signed(value);

    public static void Write(ref MessageWriter writer, long value) => writer.WriteSigned(value);

    public static long Read(ref MessageReader reader) => reader.ReadInt64();
}

/// <summary>uint32, fixed32</summary>
internal readonly struct UInt32Wire : IScalarWire<uint>
{
    public static uint Default => 0;

    public static bool IsDefault(uint value) => value == 0;

    public static long Size(uint value) => WireSize.Unsigned(value);

    public static void Write(ref MessageWriter writer, uint value) => writer.WriteUnsigned(value);

    public static uint Read(ref MessageReader reader) => reader.ReadUInt32();
}

/// <summary>uint64, fixed64</summary>
internal readonly struct UInt64Wire : IScalarWire<ulong>
{
    public static ulong Default => 0;

    public static bool IsDefault(ulong value) => value == 0;

    public static long Size(ulong value) => WireSize.Unsigned(value);

    public static void Write(ref MessageWriter writer, ulong value) => writer.WriteUnsigned(value);

    public static ulong Read(ref MessageReader reader) => reader.ReadUInt64();
}

/// <summary>float</summary>
internal readonly struct SingleWire : IScalarWire<float>
{
    public static float Default => 0;

    // Compares the bits, because -0.0 is written.
    public static bool IsDefault(float value) => BitConverter.SingleToUInt32Bits(value) == 0;

    public static long Size(float value) => WireSize.Float32;

    public static void Write(ref MessageWriter writer, float value) => writer.WriteSingle(value);

    public static float Read(ref MessageReader reader) => reader.ReadSingle();
}

/// <summary>double</summary>
internal readonly struct DoubleWire : IScalarWire<double>
{
    public static double Default => 0;

    // Compares the bits, because -0.0 is written.
    public static bool IsDefault(double value) => BitConverter.DoubleToUInt64Bits(value) == 0;

    public static long Size(double value) => WireSize.Float64;

    public static void Write(ref MessageWriter writer, double value) => writer.WriteDouble(value);

    public static double Read(ref MessageReader reader) => reader.ReadDouble();
}

/// <summary>bool</summary>
internal readonly struct BoolWire : IScalarWire<bool>
{
    public static bool Default => false;

    public static bool IsDefault(bool value) => !value;

    public static long Size(bool value) => 1;

    public static void Write(ref MessageWriter writer, bool value) => writer.WriteBoolean(value);

    public static bool Read(ref MessageReader reader) => reader.ReadBoolean();
}

/// <summary>An open enum: the value may be any int32, even one without a name.</summary>
internal readonly struct EnumWire<T> : IScalarWire<T>
    where T : struct, Enum
{
    public static T Default => default;

    public static bool IsDefault(T value) => Unsafe.BitCast<T, int>(value) == 0;

    public static long Size(T value) => WireSize.Signed(Unsafe.BitCast<T, int>(value));

    public static void Write(ref MessageWriter writer, T value) => writer.WriteSigned(Unsafe.BitCast<T, int>(value));

    public static T Read(ref MessageReader reader) => Unsafe.BitCast<int, T>(reader.ReadInt32());
}

/// <summary>string</summary>
internal readonly struct StringWire : IScalarWire<string>
{
    public static string Default => "";

    public static bool IsDefault(string value) => value.Length == 0;

    public static long Size(string value) => WireSize.String(value);

    public static void Write(ref MessageWriter writer, string value) => writer.WriteString(value);

    public static string Read(ref MessageReader reader) => reader.ReadString();
}

/// <summary>bytes</summary>
internal readonly struct BytesWire : IScalarWire<ByteString>
{
    public static ByteString Default => ByteString.Empty;

    public static bool IsDefault(ByteString value) => value.Length == 0;

    public static long Size(ByteString value) => WireSize.Binary(value.Length);

    public static void Write(ref MessageWriter writer, ByteString value) => writer.WriteBinary(value.Span);

    public static ByteString Read(ref MessageReader reader) => reader.ReadBytes();
}
