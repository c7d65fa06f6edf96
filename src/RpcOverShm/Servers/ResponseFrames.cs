using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;
using RpcOverShm.Sending;

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

    /// <exception cref="InvalidOperationException">
    /// The metadata has characters that may not be sent, or the encoding is not known.
    /// </exception>
    /// <exception cref="RpcException">
    /// The metadata is too large: the call ends so unless its method catches it.
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

    /// <summary>
    /// Serialises what a method has returned, which is nobody else's: a pooled message is given back.
    /// </summary>
    public static FrameSerializationContext SerializeLast<T>(ServerCall call, Marshaller<T> marshaller, T response)
    {
        try
        {
            return FrameSerializationContext.Serialize(marshaller, response, call.MaxSendMessageBytes, parts: call);
        }
        finally
        {
            (response as IPooledMessage)?.Dispose();
        }
    }

    public static void SendHeaders(Connection connection, ConnectionCall call, Metadata headers, string? encoding)
    {
        PooledBufferWriter head = CleanHead();
        Metadata shown = ReservedMetadata.HideFromClient(headers);
        MetadataCodec.Encode(
            head, encoding is null ? shown : [.. shown, new Metadata.Entry(MessageEncoding.ResponseKey, encoding)]);
        connection.Send(call, FrameKind.Headers, FrameFlags.None, head.WrittenSpan, default);
    }

    /// <summary>
    /// Encodes the head of the last frame of a call, for <see cref="SendEnd"/>, into a buffer that this thread uses for
    /// the next head too. Trailers that cannot be sent cost the call its status, and nobody else anything.
    /// </summary>
    /// <exception cref="Exception">The trailers, which are the method's, were changed meanwhile.</exception>
    public static PooledBufferWriter EncodeEnd(Connection connection, in StatusTrailer trailer)
    {
        StatusTrailer end = trailer;
        if (trailer.Metadata is { Count: > 0 } live)
        {
            // One look: what was counted and checked is what is sent.
            Metadata metadata = [.. live];
            end = FindProblem(metadata, connection.PeerLimits.MaxMetadataBytes) is { } problem
                ? new StatusTrailer(problem, null)
                : trailer with { Metadata = ReservedMetadata.HideFromClient(metadata) };
        }

        PooledBufferWriter head = CleanHead();
        (end with { Status = CutDetail(end.Status) }).Encode(head);
        return head;
    }

    /// <summary>Sends the last frame of a call.</summary>
    /// <param name="connection">The connection.</param>
    /// <param name="call">The call.</param>
    /// <param name="head">How it ends; see <see cref="EncodeEnd"/>.</param>
    /// <param name="message">The message that goes before that; null for none.</param>
    /// <param name="isRest">True when parts of the message were sent, and these are its last bytes.</param>
    public static void SendEnd(
        Connection connection,
        ConnectionCall call,
        PooledBufferWriter head,
        PooledBufferWriter? message = null,
        bool isRest = false)
    {
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
            connection.SendMessage(call, FrameFlags.Single, message);
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
