using Grpc.Core;

namespace RpcOverShm.Protocol;

/// <summary>
/// What starts a call: the method, how long it may take, and the request's metadata.
/// <code>
/// u8  flags: 1 timeout, 2 metadata, 4 codec, 8 host, 16 encoding; the rest zero
/// u16 length, method      full name with the leading slash, UTF-8
/// i64 timeout             if flagged: in units of 100 ns, relative, above 0
/// u16 length, codec       if flagged: the codec's name; absent means the method's own marshallers
/// u16 length, host        if flagged
/// u16 length, encoding    if flagged: each request message begins with a byte, 1 for compressed, 0 for not
/// metadata block          if flagged
/// </code>
/// The timeout is relative because the two processes' wall clocks are none of the call's business.
/// </summary>
internal ref struct RequestHead
{
    private const byte HasTimeout = 1;
    private const byte HasMetadata = 2;
    private const byte HasCodec = 4;
    private const byte HasHost = 8;
    private const byte HasEncoding = 16;
    private const byte KnownFlags = HasTimeout | HasMetadata | HasCodec | HasHost | HasEncoding;

    private static readonly Utf8StringCache s_lastCodec = new();

    /// <summary>UTF-8, a part of the bytes that were decoded.</summary>
    public ReadOnlySpan<byte> Method;

    /// <summary>Null for a call without a deadline.</summary>
    public TimeSpan? Timeout;

    /// <summary>Null for the default codec.</summary>
    public string? Codec;

    /// <summary>Null when the client named no host.</summary>
    public string? Host;

    /// <summary>Null when no request is compressed.</summary>
    public string? Encoding;

    /// <summary>Null when there is none.</summary>
    public Metadata? Metadata;

    /// <summary>
    /// Appends a head. Method and names were checked to fit; metadata was checked by the metadata codec.
    /// </summary>
    public readonly void Encode(PooledBufferWriter to)
    {
        byte flags = (byte)((Timeout is null ? 0 : HasTimeout)
            | (Metadata is null ? 0 : HasMetadata)
            | (Codec is null ? 0 : HasCodec)
            | (Host is null ? 0 : HasHost)
            | (Encoding is null ? 0 : HasEncoding));
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

        if (Metadata is not null)
        {
            MetadataCodec.Encode(to, Metadata);
        }
    }

    /// <summary>Reads a head that the peer wrote. The method stays a part of <paramref name="bytes"/>.</summary>
    /// <exception cref="ProtocolException">It is not well formed.</exception>
    public static RequestHead Decode(ReadOnlySpan<byte> bytes)
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
            // The upper bound keeps the sum with any clock within range; ten thousand years are no deadline anyway.
            long ticks = from.ReadInt64();
            head.Timeout = ticks is > 0 and < long.MaxValue / 4 ? TimeSpan.FromTicks(ticks) : null;
        }

        head.Codec = (flags & HasCodec) != 0 ? s_lastCodec.Read(ref from) : null;
        head.Host = (flags & HasHost) != 0 ? from.ReadShortText() : null;
        head.Encoding = (flags & HasEncoding) != 0 ? from.ReadShortText() : null;
        head.Metadata = (flags & HasMetadata) != 0 ? MetadataCodec.Decode(ref from) : null;
        from.End("a request head");
        return head;
    }
}
