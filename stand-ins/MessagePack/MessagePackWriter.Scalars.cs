using System.Buffers.Binary;
using System.Runtime.CompilerServices;

namespace MessagePack;

/// <content>Nil, truth and numbers.</content>
public ref partial struct MessagePackWriter
{
    public static int GetEncodedLength(long value) => value switch
    {
        >= 0 => GetEncodedLength((ulong)value),
        >= MessagePackRange.MinFixNegativeInt => 1,
        >= sbyte.MinValue => 2,
        >= short.MinValue => 3,
        >= int.MinValue => 5,
        _ => 9,
    };

    public static int GetEncodedLength(ulong value) => value switch
    {
        <= MessagePackRange.MaxFixPositiveInt => 1,
        <= byte.MaxValue => 2,
        <= ushort.MaxValue => 3,
        <= uint.MaxValue => 5,
        _ => 9,
    };

    public void WriteNil() => WriteCode(MessagePackCode.Nil);

    public void Write(bool value) => WriteCode(value ? MessagePackCode.True : MessagePackCode.False);

    public void Write(byte value) => Write((uint)value);

    public void Write(sbyte value) => Write((int)value);

    public void Write(ushort value) => Write((uint)value);

    public void Write(short value) => Write((int)value);

    public void Write(char value) => Write((uint)value);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Write(uint value)
    {
        if (value <= MessagePackRange.MaxFixPositiveInt)
        {
            WriteCode((byte)value);
        }
        else
        {
            WriteLong(value);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Write(int value)
    {
        if (value is >= MessagePackRange.MinFixNegativeInt and <= MessagePackRange.MaxFixPositiveInt)
        {
            WriteCode((byte)value);
        }
        else if (value > 0)
        {
            WriteLong((uint)value);
        }
        else
        {
            WriteLongNegative(value);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Write(ulong value)
    {
        if (value <= MessagePackRange.MaxFixPositiveInt)
        {
            WriteCode((byte)value);
        }
        else
        {
            WriteLong(value);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Write(long value)
    {
        if (value is >= MessagePackRange.MinFixNegativeInt and <= MessagePackRange.MaxFixPositiveInt)
        {
            WriteCode((byte)value);
        }
        else if (value > 0)
        {
            WriteLong((ulong)value);
        }
        else
        {
            WriteLongNegative(value);
        }
    }

    public void WriteUInt8(byte value) => Write8(MessagePackCode.UInt8, value);

    public void WriteInt8(sbyte value) => Write8(MessagePackCode.Int8, (byte)value);

    public void WriteUInt16(ushort value) => Write16(MessagePackCode.UInt16, value);

    public void WriteInt16(short value) => Write16(MessagePackCode.Int16, (ushort)value);

    public void WriteUInt32(uint value) => Write32(MessagePackCode.UInt32, value);

    public void WriteInt32(int value) => Write32(MessagePackCode.Int32, (uint)value);

    public void WriteUInt64(ulong value) => Write64(MessagePackCode.UInt64, value);

    public void WriteInt64(long value) => Write64(MessagePackCode.Int64, (ulong)value);

    public void Write(float value) => Write32(MessagePackCode.Float32, BitConverter.SingleToUInt32Bits(value));

    public void Write(double value) => Write64(MessagePackCode.Float64, BitConverter.DoubleToUInt64Bits(value));

    /// <summary>In the shortest of the three timestamps: seconds since 1970, and nanoseconds.</summary>
    /// <exception cref="NotSupportedException">The old form of the format has no timestamps.</exception>
    public void Write(DateTime dateTime)
    {
        if (OldSpec)
        {
            throw new NotSupportedException("The MsgPack spec does not define a format for DateTime in OldSpec mode.");
        }

        DateTime utc = dateTime.Kind == DateTimeKind.Local ? dateTime.ToUniversalTime() : dateTime;
        long seconds = (utc.Ticks / TimeSpan.TicksPerSecond) - (DateTime.UnixEpoch.Ticks / TimeSpan.TicksPerSecond);
        ulong nanoseconds = (ulong)(utc.Ticks % TimeSpan.TicksPerSecond * TimeSpan.NanosecondsPerTick);
        if (seconds >> 34 != 0)
        {
            WriteExtensionFormatHeader(new ExtensionHeader(ReservedMessagePackExtensionTypeCode.DateTime, 12));
            Put32((uint)nanoseconds);
            Put32((uint)(seconds >> 32));
            Put32((uint)seconds);
            return;
        }

        ulong both = (nanoseconds << 34) | (ulong)seconds;
        bool isShort = both <= uint.MaxValue;
        WriteExtensionFormatHeader(
            new ExtensionHeader(ReservedMessagePackExtensionTypeCode.DateTime, isShort ? 4 : 8));
        if (!isShort)
        {
            Put32((uint)(both >> 32));
        }

        Put32((uint)both);
    }

    private void WriteLong(ulong value)
    {
        switch (value)
        {
            case <= byte.MaxValue:
                Write8(MessagePackCode.UInt8, (byte)value);
                break;
            case <= ushort.MaxValue:
                Write16(MessagePackCode.UInt16, (ushort)value);
                break;
            case <= uint.MaxValue:
                Write32(MessagePackCode.UInt32, (uint)value);
                break;
            default:
                Write64(MessagePackCode.UInt64, value);
                break;
        }
    }

    private void WriteLongNegative(long value)
    {
        switch (value)
        {
            case >= sbyte.MinValue:
                Write8(MessagePackCode.Int8, (byte)value);
                break;
            case >= short.MinValue:
                Write16(MessagePackCode.Int16, (ushort)value);
                break;
            case >= int.MinValue:
                Write32(MessagePackCode.Int32, (uint)value);
                break;
            default:
                Write64(MessagePackCode.Int64, (ulong)value);
                break;
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void WriteCode(byte code)
    {
        Reserve(1) = code;
        _written++;
    }

    private void Write8(byte code, byte value)
    {
        ref byte at = ref Reserve(2);
        at = code;
        Unsafe.Add(ref at, 1) = value;
        _written += 2;
    }

    private void Write16(byte code, ushort value)
    {
        ref byte at = ref Reserve(3);
        at = code;
        Unsafe.WriteUnaligned(
            ref Unsafe.Add(ref at, 1),
            BitConverter.IsLittleEndian ? BinaryPrimitives.ReverseEndianness(value) : value);
        _written += 3;
    }

    private void Write32(byte code, uint value)
    {
        ref byte at = ref Reserve(5);
        at = code;
        Unsafe.WriteUnaligned(
            ref Unsafe.Add(ref at, 1),
            BitConverter.IsLittleEndian ? BinaryPrimitives.ReverseEndianness(value) : value);
        _written += 5;
    }

    private void Write64(byte code, ulong value)
    {
        ref byte at = ref Reserve(9);
        at = code;
        Unsafe.WriteUnaligned(
            ref Unsafe.Add(ref at, 1),
            BitConverter.IsLittleEndian ? BinaryPrimitives.ReverseEndianness(value) : value);
        _written += 9;
    }

    private void Put32(uint value)
    {
        Unsafe.WriteUnaligned(
            ref Reserve(4), BitConverter.IsLittleEndian ? BinaryPrimitives.ReverseEndianness(value) : value);
        _written += 4;
    }
}
