using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using MessagePack;

namespace RpcOverShm.MessagePack.Wire;

/// <summary>
/// Reads MessagePack from contiguous, untrusted bytes. For any input, the reader throws nothing but
/// <see cref="MessagePackSerializationException"/>, does not read beyond the input, and bounds its allocations by the
/// input's length.
/// </summary>
/// <remarks>
/// The reader tracks the current message and field for its error messages. The package's own reader also supports
/// segmented input, which costs a check for each value, and throws other exceptions.
/// </remarks>
internal ref partial struct MessageReader(ReadOnlySpan<byte> bytes)
{
    /// <summary>The nesting limit of messages and maps, as in Google.Protobuf.</summary>
    public const int MaxDepth = 100;

    private const uint LargestFieldNumber = (1 << 29) - 1;

    // Invalid bytes are refused, not replaced: otherwise the string would silently differ from the bytes that the peer
    // has sent.
    private static readonly UTF8Encoding s_strictUtf8 =
        new(encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true);

    private readonly ReadOnlySpan<byte> _bytes = bytes;
    private int _position;
    private int _depth;
    private MessageDescriptor? _message;

    /// <summary>Begins the outermost message.</summary>
    public void EnterRoot(MessageDescriptor message)
    {
        _message = message;
        if (TryReadNil())
        {
            throw Malformed("the message is nil");
        }
    }

    /// <summary>Ends the outermost message.</summary>
    public void Finish()
    {
        Field = 0;
        if (_position != _bytes.Length)
        {
            throw Malformed($"{_bytes.Length - _position} bytes more than the message");
        }
    }

    /// <summary>Begins a nested message; the caller ends it with <see cref="Leave"/>.</summary>
    public ReaderPlace Enter(MessageDescriptor message)
    {
        // Checked before the nested message begins: a value that is not a map is an error of the outer field.
        if ((uint)_position < (uint)_bytes.Length && !IsMap(_bytes[_position]))
        {
            throw Unexpected("a map", _bytes[_position]);
        }

        Deepen();
        var place = new ReaderPlace(_message, Field);
        _message = message;
        Field = 0;
        return place;
    }

    /// <summary>Returns to the outer message.</summary>
    public void Leave(ReaderPlace place)
    {
        _depth--;
        _message = place.Message;
        Field = place.Field;
    }

    /// <summary>Begins the entries of a map field, which count as messages in Protobuf.</summary>
    public void EnterEntries() => Deepen();

    public void LeaveEntries() => _depth--;

    /// <summary>The number of elements that the enclosing arrays and maps have announced after this position.</summary>
    /// <remarks>
    /// Each of them needs at least one byte, which no other array or map may claim. Otherwise nested arrays would
    /// reserve memory for the same byte many times.
    /// </remarks>
    public int Owed { get; set; }

    /// <summary>The number of the current field; 0 before the first.</summary>
    public int Field { get; set; }

    /// <summary>Reads the number of the next field of a message: a key of its map.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public int ReadField()
    {
        int position = _position;
        if ((uint)position < (uint)_bytes.Length && _bytes[position] - 1u < MessagePackCode.MaxFixInt)
        {
            _position = position + 1;
            return Field = _bytes[position];
        }

        return ReadLargeField();
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryReadNil()
    {
        if ((uint)_position < (uint)_bytes.Length && _bytes[_position] == MessagePackCode.Nil)
        {
            _position++;
            return true;
        }

        return false;
    }

    public bool ReadBoolean() => ReadCode() switch
    {
        MessagePackCode.True => true,
        MessagePackCode.False or MessagePackCode.Nil => false,
        byte code => throw Unexpected("a bool", code),
    };

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public int ReadInt32()
    {
        byte code = ReadCode();
        return code <= MessagePackCode.MaxFixInt ? code : (int)ReadSigned(code, int.MinValue, int.MaxValue);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public long ReadInt64()
    {
        byte code = ReadCode();
        return code <= MessagePackCode.MaxFixInt ? code : ReadSigned(code, long.MinValue, long.MaxValue);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public uint ReadUInt32()
    {
        byte code = ReadCode();
        return code <= MessagePackCode.MaxFixInt ? code : (uint)ReadUnsigned(code, uint.MaxValue);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong ReadUInt64()
    {
        byte code = ReadCode();
        return code <= MessagePackCode.MaxFixInt ? code : ReadUnsigned(code, ulong.MaxValue);
    }

    /// <summary>Reads a float32, or any other number that a float32 represents exactly.</summary>
    public float ReadSingle()
    {
        byte code = ReadCode();
        if (code == MessagePackCode.Float32)
        {
            return BinaryPrimitives.ReadSingleBigEndian(Take(sizeof(float)));
        }

        double value = ReadOtherNumber(code, out bool isExact);
        float narrow = (float)value;
        return isExact && (narrow == value || double.IsNaN(value))
            ? narrow
            : throw Malformed("a number that no float holds exactly");
    }

    /// <summary>Reads a float64, or any other number that a float64 represents exactly.</summary>
    public double ReadDouble()
    {
        byte code = ReadCode();
        if (code == MessagePackCode.Float64)
        {
            return BinaryPrimitives.ReadDoubleBigEndian(Take(sizeof(double)));
        }

        double value = ReadOtherNumber(code, out bool isExact);
        return isExact ? value : throw Malformed("a number that no double holds exactly");
    }

    public string ReadString()
    {
        ReadOnlySpan<byte> utf8 = ReadStringBytes();
        if (utf8.IsEmpty)
        {
            return "";
        }

        try
        {
            return s_strictUtf8.GetString(utf8);
        }
        catch (DecoderFallbackException exception)
        {
            throw Malformed("a string that is not valid UTF-8", exception);
        }
    }

    public ByteString ReadBytes()
    {
        byte code = ReadCode();
        int length = code switch
        {
            MessagePackCode.Bin8 => ReadLength(sizeof(byte)),
            MessagePackCode.Bin16 => ReadLength(sizeof(ushort)),
            MessagePackCode.Bin32 => ReadLength(sizeof(uint)),
            MessagePackCode.Nil => 0,
            _ => throw Unexpected("bin", code),
        };
        return length == 0 ? ByteString.Empty : ByteString.CopyFrom(Take(length));
    }

    /// <summary>Returns the number of entries of a map; 0 for nil.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public int ReadMapHeader()
    {
        byte code = ReadCode();
        int count = code - MessagePackCode.MinFixMap;
        return Promised((uint)count <= MessagePackRange.MaxFixMapCount ? count : ReadLongMapHeader(code), 2);
    }

    /// <summary>Returns the number of elements of an array; 0 for nil.</summary>
    public int ReadArrayHeader()
    {
        byte code = ReadCode();
        int count = code - MessagePackCode.MinFixArray;
        return Promised((uint)count <= MessagePackRange.MaxFixArrayCount ? count : ReadLongArrayHeader(code), 1);
    }

    /// <summary>Skips a value of any kind and depth.</summary>
    public void Skip()
    {
        // Counts the pending values instead of recursing, so no depth overflows the stack.
        for (long pending = 1; pending > 0; pending--)
        {
            pending += SkipOne();
        }
    }

    private int ReadLargeField()
    {
        Field = 0;
        byte code = ReadCode();
        ulong number = MessagePackCode.ToMessagePackType(code) == MessagePackType.Integer
            ? ReadUnsigned(code, LargestFieldNumber)
            : throw Unexpected("a field's number", code);
        return number > 0 ? Field = (int)number : throw Malformed("field number 0");
    }

    private ReadOnlySpan<byte> ReadStringBytes()
    {
        byte code = ReadCode();
        int length = code - MessagePackCode.MinFixStr;
        if ((uint)length > MessagePackRange.MaxFixStringLength)
        {
            length = code switch
            {
                MessagePackCode.Str8 => ReadLength(sizeof(byte)),
                MessagePackCode.Str16 => ReadLength(sizeof(ushort)),
                MessagePackCode.Str32 => ReadLength(sizeof(uint)),
                MessagePackCode.Nil => 0,
                _ => throw Unexpected("str", code),
            };
        }

        return Take(length);
    }

    private void Deepen()
    {
        if (++_depth > MaxDepth)
        {
            throw Malformed($"messages and maps that lie more than {MaxDepth} deep in each other");
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private byte ReadCode()
    {
        int position = _position;
        if ((uint)position >= (uint)_bytes.Length)
        {
            throw EndsEarly();
        }

        _position = position + 1;
        return _bytes[position];
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ReadOnlySpan<byte> Take(int length)
    {
        if ((uint)length > (uint)(_bytes.Length - _position))
        {
            throw EndsEarly();
        }

        ReadOnlySpan<byte> taken = _bytes.Slice(_position, length);
        _position += length;
        return taken;
    }
}

/// <summary>The place of a reader in the outer message while it reads a nested one.</summary>
internal readonly record struct ReaderPlace(MessageDescriptor? Message, int Field);
