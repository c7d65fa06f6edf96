using System.Buffers.Binary;

namespace RpcOverShm.Protocol;

/// <summary>
/// Says that the next messages of a response stream lie in a topic, which the client has mapped.
/// <code>
/// offset  size  field
///      0     4  File        its number
///      4     1  WhenSlow    what happens to a stream that is overtaken: 0 wait, 1 end, 2 skip
///      5     1  Zero        0
///      6     2  Turn        of the call's topics: the first has 0, each next one 1 more
///      8     8  Position    of the first record
///     16     8  Sequence    of the first record
/// </code>
/// The frame TopicEnd has the position behind the last record, 8 bytes. The frame TopicRead has the position up to
/// which the client has read, 8 bytes, and the turn, 4 bytes.
/// </summary>
internal readonly record struct TopicReference(
    uint File, TopicSlowness WhenSlow, ushort Turn, long Position, long Sequence)
{
    public const int SizeBytes = 24;

    /// <summary>The bytes of the payload of TopicRead.</summary>
    public const int ReadBytes = 12;

    /// <exception cref="ProtocolException">A field is not allowed.</exception>
    public static TopicReference Decode(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length != SizeBytes)
        {
            throw new ProtocolException($"The peer sent the start of a topic with {bytes.Length} bytes.");
        }

        var start = new TopicReference(
            BinaryPrimitives.ReadUInt32LittleEndian(bytes),
            (TopicSlowness)bytes[4],
            BinaryPrimitives.ReadUInt16LittleEndian(bytes[6..]),
            BinaryPrimitives.ReadInt64LittleEndian(bytes[8..]),
            BinaryPrimitives.ReadInt64LittleEndian(bytes[16..]));
        bool isLegal = start is { WhenSlow: <= TopicSlowness.Skip, Position: >= 0, Sequence: >= 0 }
            && bytes[5] == 0;
        return isLegal ? start : throw new ProtocolException($"The peer sent the start of a topic as {start}.");
    }

    /// <summary>Decodes the payload of TopicEnd.</summary>
    /// <exception cref="ProtocolException">It is no position.</exception>
    public static long DecodeEnd(ReadOnlySpan<byte> bytes)
    {
        long position = bytes.Length == sizeof(long) ? BinaryPrimitives.ReadInt64LittleEndian(bytes) : -1;
        return position >= 0
            ? position
            : throw new ProtocolException($"The peer sent {bytes.Length} bytes that are no position in a topic.");
    }

    /// <summary>Decodes the payload of TopicRead.</summary>
    /// <exception cref="ProtocolException">It is no position with a turn.</exception>
    public static (long Position, ushort Turn) DecodeRead(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length != ReadBytes)
        {
            throw new ProtocolException($"The peer sent {bytes.Length} bytes that are no position in a topic.");
        }

        uint turn = BinaryPrimitives.ReadUInt32LittleEndian(bytes[sizeof(long)..]);
        return turn <= ushort.MaxValue
            ? (DecodeEnd(bytes[..sizeof(long)]), (ushort)turn)
            : throw new ProtocolException($"The peer sent a position in topic {turn} of a call.");
    }

    /// <summary>Encodes the payload of TopicRead.</summary>
    public static void EncodeRead(Span<byte> bytes, long position, ushort turn)
    {
        BinaryPrimitives.WriteInt64LittleEndian(bytes, position);
        BinaryPrimitives.WriteUInt32LittleEndian(bytes[sizeof(long)..], turn);
    }

    public void Encode(Span<byte> bytes)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(bytes, File);
        BinaryPrimitives.WriteUInt16LittleEndian(bytes[4..], (ushort)WhenSlow);
        BinaryPrimitives.WriteUInt16LittleEndian(bytes[6..], Turn);
        BinaryPrimitives.WriteInt64LittleEndian(bytes[8..], Position);
        BinaryPrimitives.WriteInt64LittleEndian(bytes[16..], Sequence);
    }
}

/// <summary>The treatment of a subscriber that is slower than the publisher, with its value on the wire.</summary>
internal enum TopicSlowness : byte
{
    /// <summary>The publisher waits for it, for a limited time.</summary>
    Wait = 0,

    /// <summary>Its stream ends.</summary>
    End = 1,

    /// <summary>It goes on with the newest message.</summary>
    Skip = 2,
}
