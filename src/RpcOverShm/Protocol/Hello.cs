using System.Buffers.Binary;
using System.Text;

namespace RpcOverShm.Protocol;

/// <summary>
/// One message of the handshake, exchanged over the rendezvous socket. The first 24 bytes are the same in all versions
/// of the protocol, so that peers of different versions can tell each other so.
/// <code>
/// offset  size  field
///      0     8  Magic            "RPCOSHM" and a line feed
///      8     1  Type             1 client, 2 server, 3 refusal
///      9     1  Purpose          1 calls, 2 byte stream; 0 in a refusal
///     10     2  LowestVersion    spoken by the sender; the server's answer: the version chosen
///     12     2  HighestVersion   spoken by the sender; the server's answer: the version chosen
///     14     2  RefusalReason    0 unless a refusal
///     16     4  Length           of the whole message, 24 to 4096
///     20     4  (zero)
///   client and server; their segment's descriptor comes with the message
///     24    16  ConnectionId     chosen by the client, repeated by the server
///     40     8  RingCapacity     of the sender's segment
///     48     4  CallWindow       bytes of messages the sender takes per call before it has given credit
///     52     4  MaxCalls         how many calls at a time the sender takes from its peer
///     56     4  MaxMetadata      bytes of metadata the sender takes per block
///     60     4  (zero)
///   refusal
///     24     n  Text             UTF-8, for people
/// </code>
/// </summary>
internal sealed record Hello
{
    public const int CommonSizeBytes = 24;
    public const int SizeBytes = 64;
    public const int MaxSizeBytes = 4096;

    /// <summary>"RPCOSHM\n" as bytes in memory order.</summary>
    public const ulong MagicValue = 0x0A_4D_48_53_4F_43_50_52;

    public required HelloType Type { get; init; }

    public ConnectionPurpose Purpose { get; init; }

    public ushort LowestVersion { get; init; } = ProtocolVersion.Lowest;

    public ushort HighestVersion { get; init; } = ProtocolVersion.Highest;

    public RefusalReason RefusalReason { get; init; }

    public string RefusalText { get; init; } = "";

    public Guid ConnectionId { get; init; }

    public PeerLimits Limits { get; init; }

    /// <summary>
    /// The length of the message that starts with these bytes, or null while there are too few of them.
    /// </summary>
    /// <exception cref="ProtocolException">These bytes start no message of this protocol.</exception>
    public static int? PeekLength(ReadOnlySpan<byte> bytes)
    {
        Span<byte> magic = stackalloc byte[sizeof(ulong)];
        BinaryPrimitives.WriteUInt64LittleEndian(magic, MagicValue);
        int compared = Math.Min(bytes.Length, magic.Length);
        if (!bytes[..compared].SequenceEqual(magic[..compared]))
        {
            throw new ProtocolException("The other side does not speak the RpcOverShm handshake (wrong magic number).");
        }

        if (bytes.Length < CommonSizeBytes)
        {
            return null;
        }

        uint length = BinaryPrimitives.ReadUInt32LittleEndian(bytes[16..]);
        return length is >= CommonSizeBytes and <= MaxSizeBytes
            ? (int)length
            : throw new ProtocolException(
                $"A handshake message of {length} bytes; {CommonSizeBytes} to {MaxSizeBytes} are allowed.");
    }

    /// <summary>
    /// Reads a whole message. Bytes behind the known fields belong to later versions and are ignored.
    /// </summary>
    /// <exception cref="ProtocolException">The message is not well formed.</exception>
    public static Hello Decode(ReadOnlySpan<byte> bytes)
    {
        var type = (HelloType)bytes[8];
        var hello = new Hello
        {
            Type = type,
            Purpose = (ConnectionPurpose)bytes[9],
            LowestVersion = BinaryPrimitives.ReadUInt16LittleEndian(bytes[10..]),
            HighestVersion = BinaryPrimitives.ReadUInt16LittleEndian(bytes[12..]),
            RefusalReason = (RefusalReason)BinaryPrimitives.ReadUInt16LittleEndian(bytes[14..]),
        };
        if (type == HelloType.Refusal)
        {
            return hello with { RefusalText = Encoding.UTF8.GetString(bytes[CommonSizeBytes..]) };
        }

        // Versions are compared before anything else is read: behind the common part another version may differ.
        bool isForeign = IsForeign(bytes);
        if (type is not (HelloType.Client or HelloType.Server) || (!isForeign && bytes.Length < SizeBytes))
        {
            throw new ProtocolException($"A handshake message of type {(byte)type} with {bytes.Length} bytes.");
        }

        return isForeign
            ? hello
            : hello with { ConnectionId = new Guid(bytes[24..40]), Limits = PeerLimits.Decode(bytes[40..60]) };
    }

    /// <summary>
    /// True when the message that starts with these bytes, the common ones at least, is a hello of versions that this
    /// build does not speak. What follows the common part is then not known, nor what comes with it.
    /// </summary>
    public static bool IsForeign(ReadOnlySpan<byte> bytes) =>
        (HelloType)bytes[8] != HelloType.Refusal
        && ProtocolVersion.Negotiate(
            BinaryPrimitives.ReadUInt16LittleEndian(bytes[10..]),
            BinaryPrimitives.ReadUInt16LittleEndian(bytes[12..])) is null;

    public byte[] Encode()
    {
        byte[] text = Encoding.UTF8.GetBytes(RefusalText);
        int textLength = Math.Min(text.Length, MaxSizeBytes - CommonSizeBytes);
        byte[] bytes = new byte[Type == HelloType.Refusal ? CommonSizeBytes + textLength : SizeBytes];
        BinaryPrimitives.WriteUInt64LittleEndian(bytes, MagicValue);
        bytes[8] = (byte)Type;
        bytes[9] = (byte)Purpose;
        BinaryPrimitives.WriteUInt16LittleEndian(bytes.AsSpan(10), LowestVersion);
        BinaryPrimitives.WriteUInt16LittleEndian(bytes.AsSpan(12), HighestVersion);
        BinaryPrimitives.WriteUInt16LittleEndian(bytes.AsSpan(14), (ushort)RefusalReason);
        BinaryPrimitives.WriteUInt32LittleEndian(bytes.AsSpan(16), (uint)bytes.Length);
        if (Type == HelloType.Refusal)
        {
            text.AsSpan(0, textLength).CopyTo(bytes.AsSpan(CommonSizeBytes));
        }
        else
        {
            ConnectionId.TryWriteBytes(bytes.AsSpan(24));
            Limits.Encode(bytes.AsSpan(40));
        }

        return bytes;
    }
}

/// <summary>What the client wants of a connection. The numbers are on the wire.</summary>
internal enum ConnectionPurpose : byte
{
    /// <summary>Many RPC calls.</summary>
    Calls = 1,

    /// <summary>One duplex stream of bytes.</summary>
    ByteStream = 2,
}

/// <summary>What a handshake message is. The numbers are on the wire.</summary>
internal enum HelloType : byte
{
    Client = 1,
    Server = 2,
    Refusal = 3,
}
