using System.Text;
using Grpc.Core;
using RpcOverShm.Buffers;

namespace RpcOverShm.Protocol;

/// <summary>
/// The head that starts a call: method, timeout, names and request metadata.
/// <code>
/// u8  flags: 1 timeout, 2 metadata, 4 codec, 8 host, 16 encoding, 32 parent, 64 handles
/// u16 length, method      full name with the leading slash, UTF-8
/// i64 timeout             if flagged: in units of 100 ns, relative, above 0
/// u16 length, codec       if flagged: the codec's name; absent means the method's own marshallers
/// u16 length, host        if flagged
/// u16 length, encoding    if flagged: each request message begins with a byte, 1 if compressed, else 0
/// 16 bytes connection, u32 call   if flagged: the call whose method made this one
/// i64 handles             if flagged: the number of the set that comes with the call
/// metadata block          if flagged
/// </code>
/// The timeout is relative, so that it does not depend on wall clocks.
/// </summary>
internal ref struct RequestHead
{
    private const byte HasTimeout = 1;
    private const byte HasMetadata = 2;
    private const byte HasCodec = 4;
    private const byte HasHost = 8;
    private const byte HasEncoding = 16;
    private const byte HasParent = 32;
    private const byte HasHandles = 64;
    private const byte KnownFlags =
        HasTimeout | HasMetadata | HasCodec | HasHost | HasEncoding | HasParent | HasHandles;

    // Limits the memory that a peer can make this process retain.
    private const int LongestKeptCodec = 64;

    private static volatile string? s_lastCodec;

    /// <summary>The method's full name in UTF-8: a slice of the decoded bytes.</summary>
    public ReadOnlySpan<byte> Method;

    /// <summary>The time until the deadline; null without a deadline.</summary>
    public TimeSpan? Timeout;

    /// <summary>The codec's name; null for the method's own marshallers.</summary>
    public string? Codec;

    /// <summary>The host of the call; null if the client set none.</summary>
    public string? Host;

    /// <summary>The compression of request messages; null if none is compressed.</summary>
    public string? Encoding;

    /// <summary>The running call whose method made this one; null if not named.</summary>
    public ParentCall? Parent;

    /// <summary>The number of the handles that come with the call; 0 for none.</summary>
    public long Handles;

    public Metadata? Metadata;

    /// <summary>Whether the metadata was not read, because it exceeds the limit of the decoding.</summary>
    public bool IsMetadataTooLarge;

    /// <summary>
    /// Appends the head. The caller has checked the lengths of method and names, and the metadata with
    /// <see cref="MetadataCodec.Check"/>.
    /// </summary>
    public readonly void Encode(PooledBufferWriter to)
    {
        byte flags = (byte)((Timeout is null ? 0 : HasTimeout)
            | (Metadata is null ? 0 : HasMetadata)
            | (Codec is null ? 0 : HasCodec)
            | (Host is null ? 0 : HasHost)
            | (Encoding is null ? 0 : HasEncoding)
            | (Parent is null ? 0 : HasParent)
            | (Handles == 0 ? 0 : HasHandles));
        to.WriteByte(flags);
        to.WriteUInt16(checked((ushort)Method.Length));
        to.Write(Method);
        if (Timeout is { } timeout)
        {
            to.WriteInt64(timeout.Ticks);
        }

        if (Codec is not null)
        {
            to.WriteShortText(Codec);
        }

        if (Host is not null)
        {
            to.WriteShortText(Host);
        }

        if (Encoding is not null)
        {
            to.WriteShortText(Encoding);
        }

        Parent?.Encode(to);
        if (Handles != 0)
        {
            to.WriteInt64(Handles);
        }

        if (Metadata is not null)
        {
            MetadataCodec.Encode(to, Metadata);
        }
    }

    /// <summary>Decodes a head of the peer. The method is a slice of <paramref name="bytes"/>.</summary>
    /// <exception cref="ProtocolException">The head is malformed.</exception>
    /// <param name="bytes">The head.</param>
    /// <param name="limitBytes">The limit of its metadata; see <see cref="MetadataCodec.Decode"/>.</param>
    public static RequestHead Decode(ReadOnlySpan<byte> bytes, long limitBytes = long.MaxValue)
    {
        var from = new WireReader(bytes);
        var head = default(RequestHead);
        byte flags = from.ReadByte();
        if ((flags & ~KnownFlags) != 0)
        {
            throw new ProtocolException($"Unknown flags 0x{flags:X} in a request head.");
        }

        head.Method = from.ReadBytes(from.ReadUInt16());
        if ((flags & HasTimeout) != 0)
        {
            // The upper bound keeps the sum with any clock in range. A longer timeout (7,300 years) is no deadline.
            long ticks = from.ReadInt64();
            head.Timeout = ticks is > 0 and < long.MaxValue / 4 ? TimeSpan.FromTicks(ticks) : null;
        }

        head.Codec = (flags & HasCodec) != 0 ? ReadCodec(ref from) : null;
        head.Host = (flags & HasHost) != 0 ? from.ReadShortText() : null;
        head.Encoding = (flags & HasEncoding) != 0 ? from.ReadShortText() : null;
        head.Parent = (flags & HasParent) != 0 ? ParentCall.Decode(ref from) : null;
        head.Handles = (flags & HasHandles) != 0 ? from.ReadInt64() : 0;
        head.Metadata = (flags & HasMetadata) != 0 ? MetadataCodec.Decode(ref from, limitBytes) : null;
        head.IsMetadataTooLarge = (flags & HasMetadata) != 0 && head.Metadata is null;
        from.End("a request head");
        return head;
    }

    // Without an allocation if it is the last one that was read: a client has one codec.
    private static string ReadCodec(ref WireReader from)
    {
        ReadOnlySpan<byte> bytes = from.ReadBytes(from.ReadUInt16());
        if (s_lastCodec is { } last && Ascii.Equals(bytes, last))
        {
            return last;
        }

        string codec = System.Text.Encoding.UTF8.GetString(bytes);
        if (codec.Length <= LongestKeptCodec)
        {
            s_lastCodec = codec;
        }

        return codec;
    }
}
