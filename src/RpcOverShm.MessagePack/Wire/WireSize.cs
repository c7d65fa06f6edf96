using System.Text;
using MessagePack;

namespace RpcOverShm.MessagePack.Wire;

/// <summary>The sizes in bytes of values in their shortest form.</summary>
internal static class WireSize
{
    public const int Float32 = 1 + sizeof(float);
    public const int Float64 = 1 + sizeof(double);

    public static int Signed(long value) => value switch
    {
        >= 0 => Unsigned((ulong)value),
        >= MessagePackRange.MinFixNegativeInt => 1,
        >= sbyte.MinValue => 2,
        >= short.MinValue => 3,
        >= int.MinValue => 5,
        _ => 9,
    };

    public static int Unsigned(ulong value) => value switch
    {
        <= MessagePackCode.MaxFixInt => 1,
        <= byte.MaxValue => 2,
        <= ushort.MaxValue => 3,
        <= uint.MaxValue => 5,
        _ => 9,
    };

    public static long String(string value)
    {
        int bytes = Encoding.UTF8.GetByteCount(value);
        return (long)StringHeader(bytes) + bytes;
    }

    public static long Binary(int bytes) => (long)BinaryHeader(bytes) + bytes;

    public static int StringHeader(int bytes) => bytes switch
    {
        <= MessagePackRange.MaxFixStringLength => 1,
        <= byte.MaxValue => 2,
        <= ushort.MaxValue => 3,
        _ => 5,
    };

    public static int ArrayHeader(int count) => count switch
    {
        <= MessagePackRange.MaxFixArrayCount => 1,
        <= ushort.MaxValue => 3,
        _ => 5,
    };

    /// <summary>Returns the size of a map's header, which equals that of an array.</summary>
    public static int MapHeader(int count) => ArrayHeader(count);

    private static int BinaryHeader(int bytes) => bytes switch
    {
        <= byte.MaxValue => 2,
        <= ushort.MaxValue => 3,
        _ => 5,
    };
}
