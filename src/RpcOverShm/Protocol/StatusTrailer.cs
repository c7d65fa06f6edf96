using Grpc.Core;
using RpcOverShm.Buffers;

namespace RpcOverShm.Protocol;

/// <summary>
/// The outcome of a call. An empty head means OK without detail and trailers, so the common case costs no bytes.
/// <code>
/// u8  status code         0 to 16; other values read as Unknown
/// u8  flags: 1 detail, 2 metadata, 4 not processed; the rest zero
/// u32 length, detail      if flagged: UTF-8
/// metadata block          if flagged
/// </code>
/// Not processed means that no handler has seen the call, so a client may retry it transparently.
/// </summary>
internal readonly record struct StatusTrailer(Status Status, Metadata? Metadata = null, bool IsNotProcessed = false)
{
    private const byte HasDetail = 1;
    private const byte HasMetadata = 2;
    private const byte NotProcessed = 4;
    private const byte KnownFlags = HasDetail | HasMetadata | NotProcessed;

    /// <summary>Whether the metadata was not read, because it exceeds the limit of the decoding.</summary>
    public bool IsMetadataTooLarge { get; private init; }

    /// <summary>Appends the trailer; appends nothing for OK without detail and trailers.</summary>
    public void Encode(PooledBufferWriter to)
    {
        string detail = Status.Detail ?? "";
        byte flags = (byte)((detail.Length > 0 ? HasDetail : 0)
            | (Metadata is { Count: > 0 } ? HasMetadata : 0)
            | (IsNotProcessed ? NotProcessed : 0));
        if (Status.StatusCode == StatusCode.OK && flags == 0)
        {
            return;
        }

        to.WriteByte((byte)Status.StatusCode);
        to.WriteByte(flags);
        if ((flags & HasDetail) != 0)
        {
            to.WriteLongText(detail);
        }

        if ((flags & HasMetadata) != 0)
        {
            MetadataCodec.Encode(to, Metadata!);
        }
    }

    /// <summary>Decodes a trailer of the peer.</summary>
    /// <exception cref="ProtocolException">The trailer is malformed.</exception>
    /// <param name="bytes">The trailer.</param>
    /// <param name="limitBytes">The limit of its metadata; see <see cref="MetadataCodec.Decode"/>.</param>
    public static StatusTrailer Decode(ReadOnlySpan<byte> bytes, long limitBytes = long.MaxValue)
    {
        if (bytes.IsEmpty)
        {
            return new StatusTrailer(Status.DefaultSuccess);
        }

        var from = new WireReader(bytes);
        byte code = from.ReadByte();
        byte flags = from.ReadByte();
        if ((flags & ~KnownFlags) != 0)
        {
            throw new ProtocolException($"Unknown flags 0x{flags:X} in a status trailer.");
        }

        string detail = (flags & HasDetail) != 0 ? from.ReadLongText() : "";
        Metadata? metadata = (flags & HasMetadata) != 0 ? MetadataCodec.Decode(ref from, limitBytes) : null;
        from.End("a status trailer");
        StatusCode known = code <= (byte)StatusCode.Unauthenticated ? (StatusCode)code : StatusCode.Unknown;
        return new StatusTrailer(new Status(known, detail), metadata, (flags & NotProcessed) != 0)
        {
            IsMetadataTooLarge = (flags & HasMetadata) != 0 && metadata is null,
        };
    }
}
