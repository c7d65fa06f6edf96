using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <summary>
/// Validates and encodes the heads of response frames. The result is a buffer of the calling thread; the next head
/// overwrites it.
/// </summary>
internal static class ResponseFrames
{
    // The entry with the details of a failure: google.rpc.Status.
    private const string DetailsKey = "grpc-status-details-bin";

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
        PooledBufferWriter head = GetEmptyHead();
        Metadata shown = ReservedMetadata.HideFromClient(headers);
        MetadataCodec.Encode(
            head, encoding is null ? shown : [.. shown, new Metadata.Entry(MessageEncoding.ResponseKey, encoding)]);
        return head;
    }

    /// <summary>
    /// Encodes the head of the End frame. Invalid trailers change the status of the call to an error; they affect no
    /// other call. If the details of a failure are too large, only they are left out, because the status matters more.
    /// </summary>
    /// <param name="trailer">The end of the call.</param>
    /// <param name="limitBytes">The client's limit of metadata.</param>
    /// <param name="sent">The status in the frame: another one if the trailers cannot be sent.</param>
    /// <param name="isWithoutDetails">Whether the details were left out.</param>
    /// <exception cref="Exception">The method changed its trailers meanwhile.</exception>
    public static PooledBufferWriter EncodeEnd(
        in StatusTrailer trailer, long limitBytes, out Status sent, out bool isWithoutDetails)
    {
        StatusTrailer end = trailer with { Status = CutDetail(trailer.Status) };
        isWithoutDetails = false;
        if (trailer.Metadata is { Count: > 0 } live)
        {
            // Copied once: the checked copy is sent.
            Metadata metadata = [.. live];
            Status? problem = FindProblem(metadata, limitBytes);
            if (problem is { StatusCode: StatusCode.ResourceExhausted } && TryLeaveOutDetails(trailer, ref metadata))
            {
                end = end with { Status = StatusMapping.WithoutDetails(end.Status, limitBytes) };
                problem = FindProblem(metadata, limitBytes);
                isWithoutDetails = problem is null;
            }

            end = problem is { } status
                ? new StatusTrailer(status)
                : end with { Metadata = ReservedMetadata.HideFromClient(metadata) };
        }

        PooledBufferWriter head = GetEmptyHead();
        end.Encode(head);
        sent = end.Status;
        return head;
    }

    /// <summary>Returns the trailers that a method set, with those of the exception that it threw.</summary>
    public static Metadata? CombineTrailers(Exception exception, Metadata? trailers) =>
        exception is RpcException { Trailers.Count: > 0 } rpc ? [.. trailers ?? [], .. rpc.Trailers] : trailers;

    private static bool TryLeaveOutDetails(in StatusTrailer trailer, ref Metadata metadata)
    {
        if (trailer.Status.StatusCode == StatusCode.OK || metadata.Get(DetailsKey) is null)
        {
            return false;
        }

        metadata = [.. metadata.Where(entry => entry.Key != DetailsKey)];
        return true;
    }

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

    private static PooledBufferWriter GetEmptyHead()
    {
        PooledBufferWriter head = s_head ??= new PooledBufferWriter();
        head.Clear();
        return head;
    }
}
