using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <summary>
/// Checks and encodes the heads of a response's frames, into a buffer of this thread that the next head overwrites.
/// </summary>
internal static class ResponseFrames
{
    // A detail of a status is not for bulk data: a longer one is cut, and says so.
    private const int MaxDetailChars = 16 << 10;

    [ThreadStatic]
    private static PooledBufferWriter? s_head;

    /// <summary>Checks response headers before they are sent.</summary>
    /// <exception cref="InvalidOperationException">
    /// The metadata has invalid characters, or the encoding is unknown.
    /// </exception>
    /// <exception cref="RpcException">
    /// The metadata is too large. The call fails with this status unless its method catches the exception.
    /// </exception>
    public static void ThrowIfUnsendable(Metadata metadata, string? encoding, long limitBytes)
    {
        if (encoding is not null and not MessageEncoding.Gzip)
        {
            throw new InvalidOperationException(
                $"There is no compression provider for '{encoding}'; there are {MessageEncoding.Supported}.");
        }

        if (FindProblem(metadata, limitBytes) is { } problem)
        {
            throw problem.StatusCode == StatusCode.ResourceExhausted
                ? new RpcException(problem)
                : new InvalidOperationException(problem.Detail);
        }
    }

    public static PooledBufferWriter EncodeHeaders(Metadata headers, string? encoding)
    {
        PooledBufferWriter head = CleanHead();
        Metadata shown = ReservedMetadata.HideFromClient(headers);
        MetadataCodec.Encode(
            head, encoding is null ? shown : [.. shown, new Metadata.Entry(MessageEncoding.ResponseKey, encoding)]);
        return head;
    }

    /// <summary>
    /// Encodes the head of the last frame. Invalid trailers replace the status of this call and affect no other call.
    /// </summary>
    /// <exception cref="Exception">The method changed its trailers meanwhile.</exception>
    public static PooledBufferWriter EncodeEnd(in StatusTrailer trailer, long limitBytes)
    {
        StatusTrailer end = trailer;
        if (trailer.Metadata is { Count: > 0 } live)
        {
            // Copied once: the checked copy is sent.
            Metadata metadata = [.. live];
            end = FindProblem(metadata, limitBytes) is { } problem
                ? new StatusTrailer(problem)
                : trailer with { Metadata = ReservedMetadata.HideFromClient(metadata) };
        }

        PooledBufferWriter head = CleanHead();
        (end with { Status = CutDetail(end.Status) }).Encode(head);
        return head;
    }

    /// <summary>Returns the trailers that a method set, with those of the exception that it threw.</summary>
    public static Metadata? TrailersOf(Exception exception, Metadata? trailers) =>
        exception is RpcException { Trailers.Count: > 0 } rpc ? [.. trailers ?? [], .. rpc.Trailers] : trailers;

    private static Status? FindProblem(Metadata metadata, long limitBytes)
    {
        if (MetadataCodec.Check(metadata) is { } problem)
        {
            return new Status(StatusCode.Internal, problem);
        }

        return MetadataCodec.MeasureBytes(metadata) > limitBytes
            ? StatusMapping.MetadataTooLarge("The response's metadata", limitBytes)
            : null;
    }

    private static Status CutDetail(in Status status) => status.Detail is { Length: > MaxDetailChars } detail
        ? new Status(status.StatusCode, $"{detail.AsSpan(0, MaxDetailChars)}... (cut, {detail.Length} characters)")
        : status;

    private static PooledBufferWriter CleanHead()
    {
        PooledBufferWriter head = s_head ??= new PooledBufferWriter();
        head.Clear();
        return head;
    }
}
