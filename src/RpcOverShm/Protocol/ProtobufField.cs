using System.Buffers;
using RpcOverShm.Buffers;

namespace RpcOverShm.Protocol;

/// <summary>
/// The place of a field of bytes in a Protobuf message, among its other top-level fields. These are walked over and not
/// read, so the costs are those of their number. The bytes may come from a peer that lies.
/// </summary>
/// <param name="Start">The offset of the tag.</param>
/// <param name="BytesStart">The offset of the bytes.</param>
/// <param name="Length">The number of bytes.</param>
internal readonly record struct ProtobufField(long Start, long BytesStart, long Length)
{
    private const int LargestNumber = (1 << 29) - 1;

    // Groups within groups; Protobuf's parsers have a limit of the same size.
    private const int DeepestGroup = 100;

    private long End => BytesStart + Length;

    public static bool IsNumber(int number) => number is > 0 and <= LargestNumber;

    /// <summary>Finds a field. Returns false if the message has none of this number with bytes.</summary>
    /// <exception cref="InvalidDataException">The message is malformed, or has the field twice.</exception>
    public static bool TryFind(in ReadOnlySequence<byte> message, int number, out ProtobufField field)
    {
        field = default;
        bool isFound = false;
        int depth = 0; // of groups
        var reader = new SequenceReader<byte>(message);
        while (!reader.End)
        {
            long start = reader.Consumed;
            (uint found, WireType type) = ReadTag(ref reader);
            if (type == WireType.Bytes)
            {
                long length = (long)ReadVarint(ref reader);
                long bytesStart = reader.Consumed;
                Skip(ref reader, length);
                if (found == number && depth == 0)
                {
                    field = isFound
                        ? throw new InvalidDataException($"The message has field {number}, its payload, twice.")
                        : new ProtobufField(start, bytesStart, length);
                    isFound = true;
                }
            }
            else
            {
                SkipValue(ref reader, type, ref depth);
            }
        }

        return depth == 0 ? isFound : throw NotProtobuf();
    }

    /// <summary>Writes the tag and the length of a field, whose bytes are to follow.</summary>
    public static void WriteHead(PooledBufferWriter to, int number, long length)
    {
        WriteVarint(to, ((ulong)number << 3) | (ulong)WireType.Bytes);
        WriteVarint(to, (ulong)length);
    }

    /// <summary>Returns the bytes of the field.</summary>
    public ReadOnlySequence<byte> Of(in ReadOnlySequence<byte> message) => message.Slice(BytesStart, Length);

    /// <summary>Returns the other fields; in a copy, if some of them follow.</summary>
    public ReadOnlySequence<byte> Without(in ReadOnlySequence<byte> message)
    {
        ReadOnlySequence<byte> before = message.Slice(0, Start);
        ReadOnlySequence<byte> after = message.Slice(End);
        if (after.IsEmpty)
        {
            return before;
        }

        byte[] joined = new byte[before.Length + after.Length];
        before.CopyTo(joined);
        after.CopyTo(joined.AsSpan((int)before.Length));
        return new ReadOnlySequence<byte>(joined);
    }

    private static (uint Number, WireType Type) ReadTag(ref SequenceReader<byte> reader)
    {
        ulong tag = ReadVarint(ref reader);
        return tag is >= 8 and <= uint.MaxValue
            ? ((uint)tag >> 3, (WireType)(tag & 7))
            : throw NotProtobuf();
    }

    private static void SkipValue(ref SequenceReader<byte> reader, WireType type, ref int depth)
    {
        switch (type)
        {
            case WireType.Varint:
                ReadVarint(ref reader);
                break;
            case WireType.Fixed64:
                Skip(ref reader, 8);
                break;
            case WireType.Fixed32:
                Skip(ref reader, 4);
                break;
            case WireType.GroupStart when depth < DeepestGroup:
                depth++;
                break;
            case WireType.GroupEnd when depth > 0:
                depth--;
                break;
            default:
                throw NotProtobuf();
        }
    }

    private static void Skip(ref SequenceReader<byte> reader, long bytes)
    {
        // A length of more than 63 bits is negative here.
        if (bytes < 0 || bytes > reader.Remaining)
        {
            throw NotProtobuf();
        }

        reader.Advance(bytes);
    }

    private static ulong ReadVarint(ref SequenceReader<byte> reader)
    {
        ulong value = 0;
        for (int shift = 0; shift < 70; shift += 7)
        {
            if (!reader.TryRead(out byte part))
            {
                throw NotProtobuf();
            }

            value |= (ulong)(part & 0x7F) << shift;
            if (part < 0x80)
            {
                return value;
            }
        }

        throw NotProtobuf();
    }

    private static void WriteVarint(PooledBufferWriter to, ulong value)
    {
        for (; value >= 0x80; value >>= 7)
        {
            to.WriteByte((byte)(value | 0x80));
        }

        to.WriteByte((byte)value);
    }

    private static InvalidDataException NotProtobuf() => new(
        "The message is not Protobuf: it ends too early, or has a tag, a length, a number or a group that is not "
        + "allowed.");

    private enum WireType : byte
    {
        Varint,
        Fixed64,
        Bytes,
        GroupStart,
        GroupEnd,
        Fixed32,
    }
}
