using System.Buffers;
using System.Runtime.CompilerServices;
using System.Text;

namespace MessagePack;

/// <content>What has a length or a count: strings, binaries, extensions, arrays and maps.</content>
public ref partial struct MessagePackWriter
{
    private const int LongestHeader = 5;
    private const int BytesPerChar = 3;

    public void WriteArrayHeader(int count) => WriteArrayHeader((uint)count);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteArrayHeader(uint count)
    {
        if (count <= MessagePackRange.MaxFixArrayCount)
        {
            WriteCode((byte)(MessagePackCode.MinFixArray | count));
        }
        else
        {
            WriteLongHeader(MessagePackCode.Array16, MessagePackCode.Array32, count);
        }
    }

    public void WriteMapHeader(int count) => WriteMapHeader((uint)count);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteMapHeader(uint count)
    {
        if (count <= MessagePackRange.MaxFixMapCount)
        {
            WriteCode((byte)(MessagePackCode.MinFixMap | count));
        }
        else
        {
            WriteLongHeader(MessagePackCode.Map16, MessagePackCode.Map32, count);
        }
    }

    public void Write(byte[]? src)
    {
        if (src is null)
        {
            WriteNil();
        }
        else
        {
            Write(src.AsSpan());
        }
    }

    public void Write(scoped ReadOnlySpan<byte> src)
    {
        WriteBinHeader(src.Length);
        WriteRaw(src);
    }

    public void Write(in ReadOnlySequence<byte> src)
    {
        WriteBinHeader(checked((int)src.Length));
        WriteRaw(src);
    }

    public void WriteBinHeader(int length)
    {
        if (OldSpec)
        {
            WriteStringHeader(length);
        }
        else if (length is >= 0 and <= byte.MaxValue)
        {
            Write8(MessagePackCode.Bin8, (byte)length);
        }
        else
        {
            WriteLongHeader(MessagePackCode.Bin16, MessagePackCode.Bin32, (uint)length);
        }
    }

    public void WriteStringHeader(int byteCount)
    {
        if (byteCount is >= 0 and <= MessagePackRange.MaxFixStringLength)
        {
            WriteCode((byte)(MessagePackCode.MinFixStr | byteCount));
        }
        else if (byteCount is >= 0 and <= byte.MaxValue && !OldSpec)
        {
            Write8(MessagePackCode.Str8, (byte)byteCount);
        }
        else
        {
            WriteLongHeader(MessagePackCode.Str16, MessagePackCode.Str32, (uint)byteCount);
        }
    }

    public void WriteString(scoped ReadOnlySpan<byte> utf8stringBytes)
    {
        WriteStringHeader(utf8stringBytes.Length);
        WriteRaw(utf8stringBytes);
    }

    public void WriteString(in ReadOnlySequence<byte> utf8stringBytes)
    {
        WriteStringHeader(checked((int)utf8stringBytes.Length));
        WriteRaw(utf8stringBytes);
    }

    public void Write(string? value)
    {
        if (value is null)
        {
            WriteNil();
        }
        else
        {
            Write(value.AsSpan());
        }
    }

    public void Write(scoped ReadOnlySpan<char> value)
    {
        if (_span.Length - _written < LongestHeader + ((long)BytesPerChar * value.Length))
        {
            WriteCounted(value);
            return;
        }

        // Almost always the text has as many bytes as characters, or as few that its header is no longer for it.
        int header = StringHeaderLength(value.Length);
        int length = Encoding.UTF8.GetBytes(value, _span[(_written + header)..]);
        int trueHeader = StringHeaderLength(length);
        if (header != trueHeader)
        {
            _span.Slice(_written + header, length).CopyTo(_span[(_written + trueHeader)..]);
        }

        WriteStringHeader(length);
        _written += length;
    }

    public void WriteExtensionFormatHeader(ExtensionHeader extensionHeader)
    {
        uint length = extensionHeader.Length;
        switch (length)
        {
            case 1 or 2 or 4 or 8 or 16:
                WriteCode((byte)(MessagePackCode.FixExt1 + uint.Log2(length)));
                break;
            case <= byte.MaxValue:
                Write8(MessagePackCode.Ext8, (byte)length);
                break;
            default:
                WriteLongHeader(MessagePackCode.Ext16, MessagePackCode.Ext32, length);
                break;
        }

        WriteCode((byte)extensionHeader.TypeCode);
    }

    public void WriteExtensionFormat(ExtensionResult extensionData)
    {
        WriteExtensionFormatHeader(extensionData.Header);
        WriteRaw(extensionData.Data);
    }

    private void WriteCounted(scoped ReadOnlySpan<char> value)
    {
        int length = Encoding.UTF8.GetByteCount(value);
        Reserve(checked(length + LongestHeader));
        WriteStringHeader(length);
        _written += Encoding.UTF8.GetBytes(value, _span[_written..]);
    }

    private readonly int StringHeaderLength(int length) => length switch
    {
        <= MessagePackRange.MaxFixStringLength => 1,
        <= byte.MaxValue when !OldSpec => 2,
        <= ushort.MaxValue => 3,
        _ => 5,
    };

    private void WriteLongHeader(byte code16, byte code32, uint number)
    {
        if (number <= ushort.MaxValue)
        {
            Write16(code16, (ushort)number);
        }
        else
        {
            Write32(code32, number);
        }
    }
}
