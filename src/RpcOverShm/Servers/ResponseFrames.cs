using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;
using RpcOverShm.Sending;

namespace RpcOverShm.Servers;

/// <summary>
/// Encodes and sends the frames of a response: headers, and the End with or without a message. Stateless, except for
/// one buffer per thread.
/// </summary>
internal static class ResponseFrames
{
    // A detail is not for bulk data. A longer one is cut and says so.
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

    /// <summary>Serialises the response that a method returned. Owns the response, so disposes a pooled one.</summary>
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
    /// Encodes the head of the last frame of a call, for <see cref="SendEnd"/>, into a buffer that this thread reuses
    /// for the next head. Invalid trailers replace the status of this call and affect no other call.
    /// </summary>
    /// <exception cref="Exception">The method changed its trailers meanwhile.</exception>
    public static PooledBufferWriter EncodeEnd(Connection connection, in StatusTrailer trailer)
    {
        StatusTrailer end = trailer;
        if (trailer.Metadata is { Count: > 0 } live)
        {
            // Copied once: the checked copy is sent.
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
    /// <param name="head">The head of the frame, from <see cref="EncodeEnd"/>.</param>
    /// <param name="message">The last message; null for none.</param>
    /// <param name="isRest">Whether parts of the message were sent before, and these are its last bytes.</param>
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
            // The frames of a call keep their order: the End is sent after the message.
            connection.SendMessage(call, FrameFlags.Single, message);
            connection.Send(call, FrameKind.End, FrameFlags.None, head.WrittenSpan, default);
        }
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
