using System.Buffers.Binary;
using System.Text;

namespace RpcOverShm.Protocol;

/// <summary>
/// A message of the handshake on the rendezvous socket: the client's hello, the server's welcome, or a refusal. The
/// first 24 bytes are the same in all protocol versions, so that peers without a common version can report that.
/// <code>
/// offset  size  field
///      0     8  Magic            "RPCOSHM" and a line feed
///      8     1  Type             1 client, 2 server, 3 refusal
///      9     1  Purpose          1 calls, 2 byte stream, 3 statistics; 0 in a refusal
///     10     2  LowestVersion    client: lowest that it speaks; server: the chosen version
///     12     2  HighestVersion   client: highest that it speaks; server: the chosen version
///     14     2  RefusalReason    0 unless this is a refusal
///     16     4  Length           of the whole message, 24 to 4096
///     20     4  Features         client: bits that it offers; server: those that it takes; 0 in a refusal
///   client and server, with the descriptor of the sender's segment
///     24    16  ConnectionId     chosen by the client, repeated by the server
///     40     8  RingCapacity     of the sender's segment
///     48     4  CallWindow       initial credit: bytes of messages the sender accepts per call
///     52     4  MaxCalls         concurrent calls the sender accepts from its peer
///     56     4  MaxMetadata      bytes of metadata the sender accepts per block
///     60     4  MaxRunning       of those calls, as many run at a time; 0: not told
///   refusal
///     24     n  Text             UTF-8, human-readable
/// </code>
/// </summary>
internal sealed record Hello
{
    public const int CommonSizeBytes = 24;
    public const int SizeBytes = 64;
    public const int MaxSizeBytes = 4096;

    /// <summary>The bit of <see cref="Features"/> for loans: messages that refer to memory of their sender.</summary>
    public const uint LoansFeature = 1;

    /// <summary>The bit of <see cref="Features"/> for topics: files of the server that a client maps.</summary>
    public const uint TopicsFeature = 2;

    /// <summary>The bit of <see cref="Features"/> for handles in calls.</summary>
    public const uint HandlesFeature = 4;

    /// <summary>The features that this build knows. With any of them, handles pass after the handshake.</summary>
    public const uint KnownFeatures = LoansFeature | TopicsFeature | HandlesFeature;

    /// <summary>The bytes "RPCOSHM\n" in memory order.</summary>
    public const ulong MagicValue = 0x0A_4D_48_53_4F_43_50_52;

    public required HelloType Type { get; init; }

    public ConnectionPurpose Purpose { get; init; }

    public ushort LowestVersion { get; init; } = ProtocolVersion.Lowest;

    public ushort HighestVersion { get; init; } = ProtocolVersion.Highest;

    public RefusalReason RefusalReason { get; init; }

    public string RefusalText { get; init; } = "";

    /// <summary>Bits of what both sides may do beyond the version: the client offers, the server agrees.</summary>
    public uint Features { get; init; }

    public Guid ConnectionId { get; init; }

    public PeerLimits Limits { get; init; }

    /// <summary>
    /// Returns the length of the message that starts with these bytes, or null if there are too few bytes to tell.
    /// </summary>
    /// <exception cref="ProtocolException">The magic number or the length is invalid.</exception>
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
    /// Decodes a whole message. Bytes after the known fields belong to later versions; they are ignored.
    /// </summary>
    /// <exception cref="ProtocolException">The message is malformed.</exception>
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

        // The version check comes first: another version may define different fields after the common part.
        bool isForeign = IsForeign(bytes);
        if (type is not (HelloType.Client or HelloType.Server) || (!isForeign && bytes.Length < SizeBytes))
        {
            throw new ProtocolException(
                $"A handshake message of type {(byte)type} with {bytes.Length} bytes; a hello (1 or 2) of this version "
                + $"has at least {SizeBytes}, and a refusal is of type 3.");
        }

        return isForeign
            ? hello
            : hello with
            {
                Features = BinaryPrimitives.ReadUInt32LittleEndian(bytes[20..]),
                ConnectionId = new Guid(bytes[24..40]),
                Limits = PeerLimits.Decode(bytes.Slice(40, PeerLimits.SizeBytes)),
            };
    }

    /// <summary>
    /// Returns whether a message, of which at least the common part is given, is a hello without a version that this
    /// build speaks. Its other fields and the number of its descriptors are then unknown.
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
            BinaryPrimitives.WriteUInt32LittleEndian(bytes.AsSpan(20), Features);
            ConnectionId.TryWriteBytes(bytes.AsSpan(24));
            Limits.Encode(bytes.AsSpan(40));
        }

        return bytes;
    }
}

/// <summary>The purpose of a connection, with its value on the wire.</summary>
internal enum ConnectionPurpose : byte
{
    /// <summary>Any number of RPC calls.</summary>
    Calls = 1,

    /// <summary>One duplex stream of bytes.</summary>
    ByteStream = 2,

    /// <summary>The statistics of a server of calls, for programs of its own user.</summary>
    Statistics = 3,
}

/// <summary>The type of a handshake message, with its value on the wire.</summary>
internal enum HelloType : byte
{
    Client = 1,
    Server = 2,
    Refusal = 3,
}
