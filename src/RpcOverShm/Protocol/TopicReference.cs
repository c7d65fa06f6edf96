using System.Buffers.Binary;

namespace RpcOverShm.Protocol;

/// <summary>
/// Says that the next messages of a response stream lie in a topic, which the client has mapped.
/// <code>
/// offset  size  field
///      0     4  File        its number
///      4     1  WhenSlow    what happens to a stream that is overtaken: 0 wait, 1 end, 2 skip
///      5     3  Zero        0
///      8     8  Position    of the first record
///     16     8  Sequence    of the first record
/// </code>
/// The frame TopicEnd has the position behind the last record, and the frame TopicRead the one up to which the client
/// has read; each is 8 bytes.
/// </summary>
internal readonly record struct TopicReference(uint File, TopicSlowness WhenSlow, long Position, long Sequence)
{
    public const int SizeBytes = 24;

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
            BinaryPrimitives.ReadInt64LittleEndian(bytes[8..]),
            BinaryPrimitives.ReadInt64LittleEndian(bytes[16..]));
        bool isLegal = start is { WhenSlow: <= TopicSlowness.Skip, Position: >= 0, Sequence: >= 0 }
            && BinaryPrimitives.ReadUInt32LittleEndian(bytes[4..]) == (uint)start.WhenSlow;
        return isLegal ? start : throw new ProtocolException($"The peer sent the start of a topic as {start}.");
    }

    /// <summary>Decodes the payload of TopicEnd or TopicRead.</summary>
    /// <exception cref="ProtocolException">It is no position.</exception>
    public static long DecodePosition(ReadOnlySpan<byte> bytes)
    {
        long position = bytes.Length == sizeof(long) ? BinaryPrimitives.ReadInt64LittleEndian(bytes) : -1;
        return position >= 0
            ? position
            : throw new ProtocolException($"The peer sent {bytes.Length} bytes that are no position in a topic.");
    }

    public void Encode(Span<byte> bytes)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(bytes, File);
        BinaryPrimitives.WriteUInt32LittleEndian(bytes[4..], (uint)WhenSlow);
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
