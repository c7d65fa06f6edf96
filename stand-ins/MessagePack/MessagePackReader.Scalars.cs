using System.Buffers.Binary;
using System.Runtime.CompilerServices;

namespace MessagePack;

/// <content>Nil, truth and numbers.</content>
public ref partial struct MessagePackReader
{
    public Nil ReadNil() => TryReadNil() ? Nil.Default : throw InvalidCode(NextCode);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryReadNil()
    {
        if (NextCode != MessagePackCode.Nil)
        {
            return false;
        }

        Advance(1);
        return true;
    }

    public bool ReadBoolean()
    {
        byte code = NextCode;
        if (code is not (MessagePackCode.False or MessagePackCode.True))
        {
            throw InvalidCode(code);
        }

        Advance(1);
        return code == MessagePackCode.True;
    }

    public char ReadChar() => (char)ReadUInt16();

    public byte ReadByte() => (byte)ReadUnsigned(byte.MaxValue);

    public ushort ReadUInt16() => (ushort)ReadUnsigned(ushort.MaxValue);

    public uint ReadUInt32() => (uint)ReadUnsigned(uint.MaxValue);

    public ulong ReadUInt64() => ReadUnsigned(ulong.MaxValue);

    public sbyte ReadSByte() => (sbyte)ReadSigned(sbyte.MinValue, sbyte.MaxValue);

    public short ReadInt16() => (short)ReadSigned(short.MinValue, short.MaxValue);

    public int ReadInt32() => (int)ReadSigned(int.MinValue, int.MaxValue);

    public long ReadInt64() => ReadSigned(long.MinValue, long.MaxValue);

    public float ReadSingle()
    {
        int length = RequireToken(out byte code, out ulong number);
        float value = code switch
        {
            MessagePackCode.Float32 => BitConverter.UInt32BitsToSingle((uint)number),
            MessagePackCode.Float64 => (float)BitConverter.UInt64BitsToDouble(number),
            MessagePackCode.UInt64 => number,
            _ => SignedOf(code, number),
        };
        Advance(length);
        return value;
    }

    public double ReadDouble()
    {
        int length = RequireToken(out byte code, out ulong number);
        double value = code switch
        {
            MessagePackCode.Float64 => BitConverter.UInt64BitsToDouble(number),
            MessagePackCode.Float32 => BitConverter.UInt32BitsToSingle((uint)number),
            MessagePackCode.UInt64 => number,
            _ => SignedOf(code, number),
        };
        Advance(length);
        return value;
    }

    public DateTime ReadDateTime() => ReadDateTime(ReadExtensionFormatHeader());

    /// <summary>
    /// Seconds since 1970 in 4 bytes, in 8 whose upper 30 bits are nanoseconds, or in 8 after 4 of nanoseconds.
    /// </summary>
    public DateTime ReadDateTime(ExtensionHeader header)
    {
        if (header.TypeCode != ReservedMessagePackExtensionTypeCode.DateTime)
        {
            throw new MessagePackSerializationException(
                $"Extension TypeCode is invalid. typeCode: {header.TypeCode}");
        }

        if (header.Length is not (4 or 8 or 12))
        {
            throw new MessagePackSerializationException(
                $"Length of extension was {header.Length}. Either 4, 8 or 12 were expected.");
        }

        RequireRemaining(header.Length);
        uint first = TakeUInt32();
        if (header.Length == 4)
        {
            return DateTime.UnixEpoch.AddSeconds(first);
        }

        ulong rest = TakeUInt32();
        if (header.Length == 12)
        {
            return At((long)((rest << 32) | TakeUInt32()), first);
        }

        rest |= (ulong)first << 32;
        return At((long)(rest & 0x3_ffff_ffff), (uint)(rest >> 34));
    }

    private static DateTime At(long seconds, uint nanoseconds) =>
        DateTime.UnixEpoch.AddSeconds(seconds).AddTicks(nanoseconds / TimeSpan.NanosecondsPerTick);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private long ReadSigned(long smallest, long largest)
    {
        if (_at < _span.Length && _span[_at] <= MessagePackCode.MaxFixInt)
        {
            return _span[_at++];
        }

        return ReadLongSigned(smallest, largest);
    }

    private long ReadLongSigned(long smallest, long largest)
    {
        int length = RequireToken(out byte code, out ulong number);
        long value = SignedOf(code, number);
        if (value < smallest || value > largest)
        {
            throw new OverflowException($"{value} is out of the range from {smallest} to {largest}.");
        }

        Advance(length);
        return value;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ulong ReadUnsigned(ulong largest)
    {
        if (_at < _span.Length && _span[_at] <= MessagePackCode.MaxFixInt)
        {
            return _span[_at++];
        }

        return ReadLongUnsigned(largest);
    }

    private ulong ReadLongUnsigned(ulong largest)
    {
        int length = RequireToken(out byte code, out ulong number);
        ulong value = code is >= MessagePackCode.UInt8 and <= MessagePackCode.UInt64
            ? number
            : checked((ulong)SignedOf(code, number));
        if (value > largest)
        {
            throw new OverflowException($"{value} is out of the range from 0 to {largest}.");
        }

        Advance(length);
        return value;
    }

    private static long SignedOf(byte code, ulong number) => code switch
    {
        <= MessagePackCode.MaxFixInt => code,
        >= MessagePackCode.MinNegativeFixInt => (sbyte)code,
        MessagePackCode.Int8 => (sbyte)number,
        MessagePackCode.Int16 => (short)number,
        MessagePackCode.Int32 => (int)number,
        MessagePackCode.Int64 => (long)number,
        >= MessagePackCode.UInt8 and <= MessagePackCode.UInt64 => checked((long)number),
        _ => throw InvalidCode(code),
    };

    /// <summary>Four bytes of an extension that is known to be there.</summary>
    private uint TakeUInt32()
    {
        Span<byte> bytes = stackalloc byte[4];
        CopyTo(bytes);
        Advance(bytes.Length);
        return BinaryPrimitives.ReadUInt32BigEndian(bytes);
    }
}
