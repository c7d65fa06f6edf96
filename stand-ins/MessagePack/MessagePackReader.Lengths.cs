using System.Buffers;
using System.Runtime.CompilerServices;
using System.Text;

namespace MessagePack;

/// <content>What has a length or a count: strings, binaries, extensions, arrays, maps, and what is skipped.</content>
public ref partial struct MessagePackReader
{
    /// <summary>A count is believed only if there could be as many: an element has a byte at least.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public int ReadArrayHeader()
    {
        if (!TryReadArrayHeader(out int count))
        {
            throw NotEnoughBytes();
        }

        RequireRemaining(count);
        return count;
    }

    public bool TryReadArrayHeader(out int count)
    {
        int length = PeekToken(out byte code, out ulong number);
        if (length == 0)
        {
            count = 0;
            return false;
        }

        count = checked((int)ArrayCountOf(code, number));
        Advance(length);
        return true;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public int ReadMapHeader()
    {
        if (!TryReadMapHeader(out int count))
        {
            throw NotEnoughBytes();
        }

        RequireRemaining(2L * count);
        return count;
    }

    public bool TryReadMapHeader(out int count)
    {
        int length = PeekToken(out byte code, out ulong number);
        if (length == 0)
        {
            count = 0;
            return false;
        }

        count = checked((int)MapCountOf(code, number));
        Advance(length);
        return true;
    }

    /// <summary>A string too counts as bytes: binaries were written as strings once.</summary>
    public ReadOnlySequence<byte>? ReadBytes()
    {
        if (TryReadNil())
        {
            return null;
        }

        int length = RequireToken(out byte code, out ulong number);
        return TakeAfter(length, IsBinary(code) ? (long)number : StringLengthOf(code, number));
    }

    public ReadOnlySequence<byte>? ReadStringSequence()
    {
        if (TryReadNil())
        {
            return null;
        }

        int length = RequireToken(out byte code, out ulong number);
        return TakeAfter(length, StringLengthOf(code, number));
    }

    /// <summary>False for nil and for a string that lies across segments; then nothing was taken.</summary>
    public bool TryReadStringSpan(out ReadOnlySpan<byte> span)
    {
        span = default;
        int token = RequireToken(out byte code, out ulong number);
        if (code == MessagePackCode.Nil)
        {
            return false;
        }

        long length = StringLengthOf(code, number);
        RequireRemaining(token + length);
        if (token + length <= _span.Length - _at)
        {
            span = _span.Slice(_at + token, (int)length);
            _at += token + (int)length;
            return true;
        }

        // The string itself may lie in one segment although its header lies before that.
        MessagePackReader behind = this;
        behind.Advance(token);
        if (behind._at == behind._span.Length && length > 0)
        {
            behind.MoveToNextSegment();
        }

        if (length > behind._span.Length - behind._at)
        {
            return false;
        }

        span = behind._span.Slice(behind._at, (int)length);
        behind._at += (int)length;
        this = behind;
        return true;
    }

    public string? ReadString()
    {
        int token = RequireToken(out byte code, out ulong number);
        if (code == MessagePackCode.Nil)
        {
            Advance(token);
            return null;
        }

        long length = StringLengthOf(code, number);
        if (token + length <= _span.Length - _at)
        {
            string value = Encoding.UTF8.GetString(_span.Slice(_at + token, (int)length));
            _at += token + (int)length;
            return value;
        }

        return Encoding.UTF8.GetString(TakeAfter(token, length));
    }

    public ExtensionHeader ReadExtensionFormatHeader()
    {
        if (!TryReadExtensionFormatHeader(out ExtensionHeader header))
        {
            throw NotEnoughBytes();
        }

        RequireRemaining(header.Length);
        return header;
    }

    public bool TryReadExtensionFormatHeader(out ExtensionHeader extensionHeader)
    {
        int length = PeekToken(out byte code, out ulong number);
        if (length == 0)
        {
            extensionHeader = default;
            return false;
        }

        extensionHeader = ExtensionOf(code, number);
        Advance(length);
        return true;
    }

    public ExtensionResult ReadExtensionFormat()
    {
        ExtensionHeader header = ReadExtensionFormatHeader();
        return new ExtensionResult(header.TypeCode, TakeAfter(0, header.Length));
    }

    public ReadOnlySequence<byte> ReadRaw()
    {
        SequencePosition start = Position;
        Skip();
        return _sequence.Slice(start, Position);
    }

    public ReadOnlySequence<byte> ReadRaw(long length) => TakeAfter(0, length);

    /// <summary>Counts what is still to be skipped instead of calling itself, so no depth is too deep for it.</summary>
    public void Skip()
    {
        for (long pending = 1; pending > 0; pending--)
        {
            int length = RequireToken(out byte code, out ulong number);
            Advance(length);
            switch (MessagePackCode.ToMessagePackType(code))
            {
                case MessagePackType.Array:
                    pending += ArrayCountOf(code, number);
                    RequireRemaining(pending - 1);
                    break;
                case MessagePackType.Map:
                    pending += 2 * MapCountOf(code, number);
                    RequireRemaining(pending - 1);
                    break;
                case MessagePackType.String:
                    SkipBytes(StringLengthOf(code, number));
                    break;
                case MessagePackType.Binary:
                    SkipBytes((long)number);
                    break;
                case MessagePackType.Extension:
                    SkipBytes(ExtensionOf(code, number).Length);
                    break;
                case MessagePackType.Unknown:
                    throw InvalidCode(code);
            }
        }
    }

    private void SkipBytes(long length)
    {
        RequireRemaining(length);
        AdvanceAcrossSegments(length);
    }

    private ReadOnlySequence<byte> TakeAfter(int token, long length)
    {
        RequireRemaining(token + length);
        AdvanceAcrossSegments(token);
        ReadOnlySequence<byte> taken = _sequence.Slice(Position, length);
        AdvanceAcrossSegments(length);
        return taken;
    }

    private static bool IsBinary(byte code) =>
        code is MessagePackCode.Bin8 or MessagePackCode.Bin16 or MessagePackCode.Bin32;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static long StringLengthOf(byte code, ulong number) => code switch
    {
        >= MessagePackCode.MinFixStr and <= MessagePackCode.MaxFixStr => code & 0x1f,
        MessagePackCode.Str8 or MessagePackCode.Str16 or MessagePackCode.Str32 => (long)number,
        _ => throw InvalidCode(code),
    };

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static long ArrayCountOf(byte code, ulong number) => code switch
    {
        >= MessagePackCode.MinFixArray and <= MessagePackCode.MaxFixArray => code & 0xf,
        MessagePackCode.Array16 or MessagePackCode.Array32 => (long)number,
        _ => throw InvalidCode(code),
    };

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static long MapCountOf(byte code, ulong number) => code switch
    {
        >= MessagePackCode.MinFixMap and <= MessagePackCode.MaxFixMap => code & 0xf,
        MessagePackCode.Map16 or MessagePackCode.Map32 => (long)number,
        _ => throw InvalidCode(code),
    };

    private static ExtensionHeader ExtensionOf(byte code, ulong number)
    {
        uint length = code switch
        {
            >= MessagePackCode.FixExt1 and <= MessagePackCode.FixExt16 => 1u << (code - MessagePackCode.FixExt1),
            >= MessagePackCode.Ext8 and <= MessagePackCode.Ext32 => (uint)(number >> 8),
            _ => throw InvalidCode(code),
        };
        return new ExtensionHeader((sbyte)number, length);
    }
}
