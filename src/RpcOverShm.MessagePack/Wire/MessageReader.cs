using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using MessagePack;

namespace RpcOverShm.MessagePack.Wire;

/// <summary>
/// Reads MessagePack from contiguous bytes that nobody vouches for: whatever they are, the only thing thrown is
/// <see cref="MessagePackSerializationException"/>, nothing is read beyond them, and what is allocated is bounded by
/// their length. It knows which field of which message it is in, for what it says when it throws. The package's own
/// reader also takes bytes that lie in pieces, which costs a check for each value; and it throws other exceptions.
/// </summary>
internal ref partial struct MessageReader(ReadOnlySpan<byte> bytes)
{
    /// <summary>How deep messages may lie in each other and in maps: as Google.Protobuf has it.</summary>
    public const int MaxDepth = 100;

    private const uint LargestFieldNumber = (1 << 29) - 1;

    // Bytes that are not valid are refused, not replaced: the peer's strings are not what it has sent.
    private static readonly UTF8Encoding s_strictUtf8 =
        new(encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true);

    private readonly ReadOnlySpan<byte> _bytes = bytes;
    private int _position;
    private int _depth;
    private MessageDescriptor? _message;

    /// <summary>Begins the message that everything lies in.</summary>
    public void EnterRoot(MessageDescriptor message)
    {
        _message = message;
        if (TryReadNil())
        {
            throw Malformed("the message is nil");
        }
    }

    /// <summary>Ends that message.</summary>
    public void Finish()
    {
        Field = 0;
        if (_position != _bytes.Length)
        {
            throw Malformed($"{_bytes.Length - _position} bytes more than the message");
        }
    }

    /// <summary>Begins a message inside another one; to be ended with <see cref="Leave"/>.</summary>
    public ReaderPlace Enter(MessageDescriptor message)
    {
        // What is no map at all is an error of the field that it stands for.
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

    /// <summary>Returns to the message around.</summary>
    public void Leave(ReaderPlace place)
    {
        _depth--;
        _message = place.Message;
        Field = place.Field;
    }

    /// <summary>Begins the entries of a map field, which are messages to Protobuf.</summary>
    public void EnterEntries() => Deepen();

    public void LeaveEntries() => _depth--;

    /// <summary>
    /// How many elements the arrays and maps around this place have promised behind it. Each needs a byte at least, so
    /// nothing else can be promised in those: else arrays inside arrays would reserve memory for every byte many times.
    /// </summary>
    public int Owed { get; set; }

    /// <summary>The number of the field that is being read; 0 before the first.</summary>
    public int Field { get; set; }

    /// <summary>The number of the next field of a message, which is a key of its map.</summary>
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

    /// <summary>A float32, or any other number that a float32 can hold as it is.</summary>
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

    /// <summary>A float64, or any other number that a float64 can hold as it is.</summary>
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

    /// <summary>How many entries a map has; none for nil.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public int ReadMapHeader()
    {
        byte code = ReadCode();
        int count = code - MessagePackCode.MinFixMap;
        return Promised((uint)count <= MessagePackRange.MaxFixMapCount ? count : ReadLongMapHeader(code), 2);
    }

    /// <summary>How many elements an array has; none for nil.</summary>
    public int ReadArrayHeader()
    {
        byte code = ReadCode();
        int count = code - MessagePackCode.MinFixArray;
        return Promised((uint)count <= MessagePackRange.MaxFixArrayCount ? count : ReadLongArrayHeader(code), 1);
    }

    /// <summary>Passes over a value of any kind and depth.</summary>
    public void Skip()
    {
        // Counts what is to come instead of calling itself: there is no depth that would be too deep.
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

/// <summary>Where a reader was before it entered a message inside another one.</summary>
internal readonly record struct ReaderPlace(MessageDescriptor? Message, int Field);
