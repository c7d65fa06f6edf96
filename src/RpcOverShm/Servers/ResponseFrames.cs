using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <summary>
/// Turns the answer of a call into frames: headers, and the end with or without its message. Holds nothing of a call.
/// </summary>
internal static class ResponseFrames
{
    // A detail is for people and programs, not for data: what is longer is cut, and says so.
    private const int MaxDetailChars = 16 << 10;

    [ThreadStatic]
    private static PooledBufferWriter? s_head;

    /// <exception cref="InvalidOperationException">The metadata has characters that may not be sent.</exception>
    /// <exception cref="RpcException">
    /// The metadata is too large: the call ends so unless its method catches it.
    /// </exception>
    public static void ThrowIfUnsendable(Metadata metadata, long limitBytes)
    {
        if (FindProblem(metadata, limitBytes) is { } problem)
        {
            throw problem.StatusCode == StatusCode.ResourceExhausted
                ? new RpcException(problem)
                : new InvalidOperationException(problem.Detail);
        }
    }

    public static void SendHeaders(Connection connection, ConnectionCall call, Metadata headers)
    {
        PooledBufferWriter head = CleanHead();
        MetadataCodec.Encode(head, TransportKeys.HideFromClient(headers));
        connection.Send(call, FrameKind.Headers, FrameFlags.None, head.WrittenSpan, default);
    }

    /// <summary>
    /// Sends the last frame of a call. Trailers that cannot be sent cost the call its status, and nobody else anything.
    /// </summary>
    /// <param name="connection">The connection.</param>
    /// <param name="call">The call.</param>
    /// <param name="trailer">How it ends.</param>
    /// <param name="message">The message that goes before that; null for none.</param>
    /// <param name="isRest">True when parts of the message were sent, and these are its last bytes.</param>
    public static void SendEnd(
        Connection connection,
        ConnectionCall call,
        StatusTrailer trailer,
        PooledBufferWriter? message,
        bool isRest = false)
    {
        if (trailer.Metadata is { Count: > 0 } metadata)
        {
            trailer = FindProblem(metadata, connection.PeerLimits.MaxMetadataBytes) is { } problem
                ? new StatusTrailer(problem, null)
                : trailer with { Metadata = TransportKeys.HideFromClient(metadata) };
        }

        PooledBufferWriter head = CleanHead();
        (trailer with { Status = CutDetail(trailer.Status) }).Encode(head);
        if (message is null)
        {
            connection.Send(call, FrameKind.End, FrameFlags.None, head.WrittenSpan, default);
        }
        else if (!isRest && head.Length + message.Length <= connection.InlineBytes)
        {
            connection.Send(call, FrameKind.End, FrameFlags.HasMessage, head.WrittenSpan, message.WrittenSpan);
        }
        else
        {
            // The frames of a call keep their order: the end follows when the message has gone.
            _ = connection.SendMessageAsync(call, FrameFlags.Single, message);
            connection.Send(call, FrameKind.End, FrameFlags.None, head.WrittenSpan, default);
        }
    }

    /// <summary>The trailers that a method has set, and those of what it threw.</summary>
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
