using System.Buffers.Binary;

namespace RpcOverShm.Protocol;

/// <summary>
/// A message of the socket after the handshake: it carries the descriptor of a data file, whose pieces its sender will
/// lend, or of a topic of the server. Only on connections whose sides have agreed on <see cref="Hello.LoansFeature"/>,
/// or on <see cref="Hello.TopicsFeature"/>.
/// <code>
/// offset  size  field
///      0     1  Type      2
///      1     3  Zero      0
///      4     4  Number    of the sender's files: from 0 for data, from 64 for topics, which have no last number
///      8     8  Size      of the file: a multiple of 64 KiB, at most 1 GiB; of a topic without its first page
/// </code>
/// </summary>
internal readonly record struct FileNotice(uint Number, long SizeBytes)
{
    public const byte Type = 2;

    public const int EncodedBytes = 16;

    /// <summary>The files that a side makes for one connection.</summary>
    public const int MostFiles = 64;

    /// <summary>The number of a connection's first topic.</summary>
    public const uint FirstTopic = MostFiles;

    public const long LargestFile = 1 << 30;

    /// <summary>Whether it is a topic.</summary>
    public bool IsTopic => Number >= FirstTopic;

    /// <exception cref="ProtocolException">A field is not allowed.</exception>
    public static FileNotice Decode(ReadOnlySpan<byte> bytes)
    {
        var notice = new FileNotice(
            BinaryPrimitives.ReadUInt32LittleEndian(bytes[4..]), BinaryPrimitives.ReadInt64LittleEndian(bytes[8..]));
        bool isLegal = BinaryPrimitives.ReadUInt32LittleEndian(bytes) == Type
            && notice.SizeBytes is > 0 and <= LargestFile
            && notice.SizeBytes % LoanReference.BlockBytes == 0;
        return isLegal
            ? notice
            : throw new ProtocolException(
                $"The peer passed file {notice.Number} with {notice.SizeBytes} bytes; "
                + $"multiples of {LoanReference.BlockBytes} up to {LargestFile} are allowed.");
    }

    public void Encode(Span<byte> bytes)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(bytes, Type);
        BinaryPrimitives.WriteUInt32LittleEndian(bytes[4..], Number);
        BinaryPrimitives.WriteInt64LittleEndian(bytes[8..], SizeBytes);
    }
}
