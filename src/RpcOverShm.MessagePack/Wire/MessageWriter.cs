using System.Buffers;
using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Unicode;
using MessagePack;

namespace RpcOverShm.MessagePack.Wire;

/// <summary>Writes MessagePack into the spans of a buffer writer, each value in its shortest form.</summary>
/// <remarks>
/// The buffer writer returns one span for a message whose length was announced, and several for a large message that is
/// sent while it is written. The package's own writer does not know the length in advance and requests more than it
/// needs; this writer requests at most the size of the next value.
/// </remarks>
internal ref struct MessageWriter
{
    private readonly IBufferWriter<byte> _output;
    private Span<byte> _span;
    private int _position;

    public MessageWriter(IBufferWriter<byte> output)
    {
        _output = output;
        _span = output.GetSpan(1);
    }

    /// <summary>Reports the written bytes to the buffer writer; called once, at the end.</summary>
    public void Flush()
    {
        _output.Advance(_position);
        _span = default;
        _position = 0;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteKey(int fieldNumber) => WriteUnsigned((uint)fieldNumber);

    public void WriteBoolean(bool value) => WriteByte(value ? MessagePackCode.True : MessagePackCode.False);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteSigned(long value)
    {
        if ((ulong)value <= MessagePackCode.MaxFixInt)
        {
            WriteByte((byte)value);
        }
        else
        {
            WriteLongSigned(value);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteUnsigned(ulong value)
    {
        if (value <= MessagePackCode.MaxFixInt)
        {
            WriteByte((byte)value);
        }
        else
        {
            WriteLongUnsigned(value);
        }
    }

    public void WriteSingle(float value)
    {
        Span<byte> taken = Take(WireSize.Float32);
        taken[0] = MessagePackCode.Float32;
        BinaryPrimitives.WriteSingleBigEndian(taken[1..], value);
    }

    public void WriteDouble(double value)
    {
        Span<byte> taken = Take(WireSize.Float64);
        taken[0] = MessagePackCode.Float64;
        BinaryPrimitives.WriteDoubleBigEndian(taken[1..], value);
    }

    /// <summary>Writes UTF-8, with U+FFFD for invalid UTF-16, as Protobuf does.</summary>
    public void WriteString(string value)
    {
        // Most strings are ASCII: their header has the same size whether it is computed from characters or from bytes.
        int header = WireSize.StringHeader(value.Length);
        if (_span.Length - _position > header
            && Encoding.UTF8.TryGetBytes(value, _span[(_position + header)..], out int bytes)
            && WireSize.StringHeader(bytes) == header)
        {
            WriteHeader(
                bytes,
                MessagePackCode.MinFixStr, MessagePackRange.MaxFixStringLength, MessagePackCode.Str8);
            _position += bytes;
            return;
        }

        WriteOtherString(value);
    }

    public void WriteBinary(ReadOnlySpan<byte> value)
    {
        WriteHeader(value.Length, fixCode: 0, fixMost: -1, MessagePackCode.Bin8);
        while (value.Length > _span.Length - _position)
        {
            int room = _span.Length - _position;
            value[..room].CopyTo(_span[_position..]);
            _position += room;
            value = value[room..];
            Renew(1);
        }

        value.CopyTo(_span[_position..]);
        _position += value.Length;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteMapHeader(int count)
    {
        if (count <= MessagePackRange.MaxFixMapCount)
        {
            WriteByte((byte)(MessagePackCode.MinFixMap | count));
        }
        else
        {
            WriteLongHeader(count, MessagePackCode.Map16);
        }
    }

    public void WriteArrayHeader(int count)
    {
        if (count <= MessagePackRange.MaxFixArrayCount)
        {
            WriteByte((byte)(MessagePackCode.MinFixArray | count));
        }
        else
        {
            WriteLongHeader(count, MessagePackCode.Array16);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void WriteByte(byte value)
    {
        if ((uint)_position >= (uint)_span.Length)
        {
            Renew(1);
        }

        _span[_position++] = value;
    }

    private void WriteLongSigned(long value)
    {
        switch (value)
        {
            case >= 0:
                WriteLongUnsigned((ulong)value);
                break;
            case >= MessagePackRange.MinFixNegativeInt:
                WriteByte((byte)value);
                break;
            case >= sbyte.MinValue:
                WriteCoded(MessagePackCode.Int8, (ulong)value, sizeof(sbyte));
                break;
            case >= short.MinValue:
                WriteCoded(MessagePackCode.Int16, (ulong)value, sizeof(short));
                break;
            case >= int.MinValue:
                WriteCoded(MessagePackCode.Int32, (ulong)value, sizeof(int));
                break;
            default:
                WriteCoded(MessagePackCode.Int64, (ulong)value, sizeof(long));
                break;
        }
    }

    private void WriteLongUnsigned(ulong value)
    {
        switch (value)
        {
            case <= byte.MaxValue:
                WriteCoded(MessagePackCode.UInt8, value, sizeof(byte));
                break;
            case <= ushort.MaxValue:
                WriteCoded(MessagePackCode.UInt16, value, sizeof(ushort));
                break;
            case <= uint.MaxValue:
                WriteCoded(MessagePackCode.UInt32, value, sizeof(uint));
                break;
            default:
                WriteCoded(MessagePackCode.UInt64, value, sizeof(ulong));
                break;
        }
    }

    /// <summary>Writes the header of a string or of bytes, whose codes for 8, 16 and 32 bits are consecutive.</summary>
    private void WriteHeader(int length, byte fixCode, int fixMost, byte code8)
    {
        if (length <= fixMost)
        {
            WriteByte((byte)(fixCode | length));
        }
        else if (length <= byte.MaxValue)
        {
            WriteCoded(code8, (uint)length, sizeof(byte));
        }
        else
        {
            WriteLongHeader(length, (byte)(code8 + 1));
        }
    }

    private void WriteLongHeader(int length, byte code16)
    {
        if (length <= ushort.MaxValue)
        {
            WriteCoded(code16, (uint)length, sizeof(ushort));
        }
        else
        {
            WriteCoded((byte)(code16 + 1), (uint)length, sizeof(uint));
        }
    }

    /// <summary>Writes a code and the lowest bytes of a value, in big-endian order.</summary>
    private void WriteCoded(byte code, ulong value, int bytes)
    {
        Span<byte> taken = Take(1 + bytes);
        taken[0] = code;
        for (int i = bytes; i > 0; i--)
        {
            taken[i] = (byte)value;
            value >>= 8;
        }
    }

    /// <summary>Writes a string that is not ASCII or does not fit into the current span.</summary>
    private void WriteOtherString(string value)
    {
        int bytes = Encoding.UTF8.GetByteCount(value);
        WriteHeader(
            bytes, MessagePackCode.MinFixStr, MessagePackRange.MaxFixStringLength, MessagePackCode.Str8);
        ReadOnlySpan<char> rest = value;
        while (!rest.IsEmpty)
        {
            Utf8.FromUtf16(rest, _span[_position..], out int read, out int written);
            _position += written;
            rest = rest[read..];
            if (!rest.IsEmpty)
            {
                // A character has at most four bytes. At the end of a message fewer may remain, and no more may be
                // requested.
                Renew(Math.Min(4, Encoding.UTF8.GetByteCount(rest[..Math.Min(rest.Length, 2)])));
            }
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private Span<byte> Take(int length)
    {
        if (_span.Length - _position < length)
        {
            Renew(length);
        }

        Span<byte> taken = _span.Slice(_position, length);
        _position += length;
        return taken;
    }

    private void Renew(int length)
    {
        _output.Advance(_position);
        _position = 0;
        _span = _output.GetSpan(length);
    }
}
