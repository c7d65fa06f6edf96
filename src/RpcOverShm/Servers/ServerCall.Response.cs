using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <content>The response of a call: its headers, its messages and the End frame.</content>
internal sealed partial class ServerCall : IMessagePartSink
{
    private const int EndMark = 1 << 8; // beside a status code, of which 17 are known

    // The entry with the details of a failure: google.rpc.Status.
    private const string DetailsKey = "grpc-status-details-bin";

    // A detail of a status is not for bulk data: a longer one is cut, and says so.
    private const int MaxDetailChars = 16 << 10;

    [ThreadStatic]
    private static PooledBufferWriter? s_head;

    private bool _isResponseBegun; // headers or a part of a message were sent
    private volatile bool _isResponseEncoded;

    /// <summary>
    /// The maximum serialised size of a response in bytes; null for no limit. For encoded responses it is null, because
    /// their marshaller checks the limit before it compresses.
    /// </summary>
    public int? MaxSendMessageBytes => _isResponseEncoded ? null : Settings.MaxSendMessageBytes;

    /// <summary>
    /// The status with which the call has ended: the one that was sent, or <see cref="StatusCode.Unavailable"/> if the
    /// connection ended first. For a call that has ended.
    /// </summary>
    public StatusCode EndStatusCode => (StatusCode)(Volatile.Read(ref _endStatus) & (EndMark - 1));

    // The client's.
    private long MetadataLimit => Connection.PeerLimits.MaxMetadataBytes;

    /// <summary>Sends the response headers, before the first message.</summary>
    /// <exception cref="InvalidOperationException">
    /// The call has ended, headers or a message were sent before, or the metadata is invalid.
    /// </exception>
    /// <exception cref="RpcException">The metadata exceeds the client's limit.</exception>
    public void SendHeaders(Metadata headers)
    {
        if (IsEnded)
        {
            throw new InvalidOperationException("Can't send the response headers because the request is complete.");
        }

        // Copied once, because the method may change its metadata meanwhile: the checked copy is sent.
        headers = [.. headers];
        string? requested = MessageEncoding.Take(MessageEncoding.RequestedKey, ref headers);
        string? encoding = requested ?? Settings.ResponseEncoding;
        encoding = encoding == MessageEncoding.Identity ? null : encoding;
        ThrowIfUnsendable(headers, encoding);
        if (Interlocked.Exchange(ref _isResponseBegun, true))
        {
            throw new InvalidOperationException("Response headers can only be sent once per call.");
        }

        if (!IsOneWay)
        {
            SendHeaders(headers, encoding);
        }
    }

    /// <summary>
    /// Returns the marshaller that writes responses in the encoding of the call. If nothing was sent before and the
    /// server has a default encoding, sends headers that name it.
    /// </summary>
    public Marshaller<T> PrepareMarshaller<T>(Marshaller<T> marshaller, WriteOptions? options)
    {
        if (Settings.ResponseEncoding is { } encoding && !Interlocked.Exchange(ref _isResponseBegun, true))
        {
            SendHeaders(Metadata.Empty, encoding);
        }

        return _isResponseEncoded ? Settings.WithEncoding(marshaller, options) : marshaller;
    }

    /// <summary>Sends a message of a response stream. See <see cref="FrameSender.SendMessageAsync"/>.</summary>
    public Task<bool> SendMessageAsync(PooledBufferWriter bytes)
    {
        Volatile.Write(ref _isResponseBegun, true);
        return Connection.Sender.SendMessageAsync(this, FrameFlags.None, bytes);
    }

    /// <summary>Sends a part of a message. See <see cref="FrameSender.SendPart"/>.</summary>
    public int SendPart(FrameFlags flags, ReadOnlySpan<byte> part, int wholeLength)
    {
        int sent = Connection.Sender.SendPart(this, flags, part, wholeLength);
        if (sent > 0)
        {
            Volatile.Write(ref _isResponseBegun, true);
        }

        return sent;
    }

    int IMessagePartSink.SendPart(ReadOnlySpan<byte> part, int wholeLength) =>
        SendPart(FrameFlags.Single, part, wholeLength);

    /// <summary>
    /// Ends the call, unless it has ended, with the single response of its method and the status that the method set.
    /// Disposes the response if it is an <see cref="IPooledMessage"/>.
    /// </summary>
    public void EndWith<T>(Marshaller<T> marshaller, T? response, ShmServerCallContext context)
        where T : class
    {
        if (IsOneWay)
        {
            (response as IPooledMessage)?.Dispose();
            EndOnce(new StatusTrailer(context.Status));
            return;
        }

        if (IsUnreachable)
        {
            // No client will receive the response, so it is not serialised.
            (response as IPooledMessage)?.Dispose();
            EndWithoutResponse();
            return;
        }

        if (response is null)
        {
            EndWith(new Status(StatusCode.Cancelled, StatusMapping.NoMessageDetail), context.TrailersIfSet);
            return;
        }

        FrameSerializationContext serialized;
        try
        {
            serialized = FrameSerializationContext.Serialize(
                PrepareMarshaller(marshaller, context.WriteOptions),
                response,
                MaxSendMessageBytes,
                parts: this,
                mayRefer: true);
        }
        finally
        {
            (response as IPooledMessage)?.Dispose();
        }

        using (serialized)
        {
            EndOnce(new StatusTrailer(context.Status, context.TrailersIfSet), serialized);
        }
    }

    /// <summary>Ends the call, unless it has ended.</summary>
    /// <param name="status">The status.</param>
    /// <param name="trailers">The trailers; those of a one-way call are not sent.</param>
    /// <param name="isLogged">Whether a failure has a log entry already.</param>
    /// <exception cref="Exception">The method changed the trailers meanwhile. The call has not ended.</exception>
    public void EndWith(in Status status, Metadata? trailers, bool isLogged = false)
    {
        if (IsOneWay)
        {
            EndOnce(new StatusTrailer(status), isLogged: isLogged);
        }
        else if (!IsEnded)
        {
            bool isBroken = Connection.Sender.StopParts(this) && status.StatusCode == StatusCode.OK;
            EndOnce(new StatusTrailer(isBroken ? StatusMapping.MessageBrokenOff : status, trailers));
        }
    }

    /// <summary>Returns the trailers that a method set, with those of the exception that it threw.</summary>
    public static Metadata? CombineTrailers(Exception exception, Metadata? trailers) =>
        exception is RpcException { Trailers.Count: > 0 } rpc ? [.. trailers ?? [], .. rpc.Trailers] : trailers;

    /// <summary>Checks response headers before they are sent.</summary>
    /// <exception cref="InvalidOperationException">
    /// The metadata has invalid characters, or the encoding is unknown.
    /// </exception>
    /// <exception cref="RpcException">
    /// The metadata is too large. The call fails with this status unless its method catches the exception.
    /// </exception>
    private void ThrowIfUnsendable(Metadata metadata, string? encoding)
    {
        if (encoding is not null and not MessageEncoding.Gzip)
        {
            throw new InvalidOperationException(
                $"There is no compression provider for '{encoding}'; there are {MessageEncoding.Supported}.");
        }

        if (FindProblem(metadata) is { } problem)
        {
            throw problem.StatusCode == StatusCode.ResourceExhausted
                ? new RpcException(problem)
                : new InvalidOperationException(problem.Detail);
        }
    }

    private void SendHeaders(Metadata headers, string? encoding)
    {
        _isResponseEncoded = encoding is not null;
        PooledBufferWriter head = GetEmptyHead();
        Metadata shown = ReservedMetadata.HideFromClient(headers);
        MetadataCodec.Encode(
            head, encoding is null ? shown : [.. shown, new Metadata.Entry(MessageEncoding.ResponseKey, encoding)]);
        Connection.Sender.Send(this, FrameKind.Headers, FrameFlags.None, head.WrittenSpan, default);
    }

    /// <summary>
    /// Encodes the head of the End frame. Invalid trailers change the status of the call to an error; they affect no
    /// other call. If the details of a failure are too large, only they are left out, because the status matters more.
    /// </summary>
    /// <param name="trailer">The end of the call.</param>
    /// <param name="sent">The status in the frame: another one if the trailers cannot be sent.</param>
    /// <param name="isWithoutDetails">Whether the details were left out.</param>
    /// <exception cref="Exception">The method changed its trailers meanwhile.</exception>
    private PooledBufferWriter EncodeEnd(in StatusTrailer trailer, out Status sent, out bool isWithoutDetails)
    {
        StatusTrailer end = trailer with { Status = CutDetail(trailer.Status) };
        isWithoutDetails = false;
        if (trailer.Metadata is { Count: > 0 } live)
        {
            // Copied once: the checked copy is sent.
            Metadata metadata = [.. live];
            Status? problem = FindProblem(metadata);
            if (problem is { StatusCode: StatusCode.ResourceExhausted } && TryLeaveOutDetails(trailer, ref metadata))
            {
                end = end with { Status = StatusMapping.WithoutDetails(end.Status, MetadataLimit) };
                problem = FindProblem(metadata);
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

    private static bool TryLeaveOutDetails(in StatusTrailer trailer, ref Metadata metadata)
    {
        if (trailer.Status.StatusCode == StatusCode.OK || metadata.Get(DetailsKey) is null)
        {
            return false;
        }

        metadata = [.. metadata.Where(entry => entry.Key != DetailsKey)];
        return true;
    }

    private Status? FindProblem(Metadata metadata)
    {
        if (MetadataCodec.Check(metadata) is { } problem)
        {
            return new Status(StatusCode.Internal, problem);
        }

        return MetadataCodec.MeasureBytes(metadata) > MetadataLimit
            ? StatusMapping.MetadataTooLarge("The response's metadata", MetadataLimit)
            : null;
    }

    private static Status CutDetail(in Status status) => status.Detail is { Length: > MaxDetailChars } detail
        ? new Status(status.StatusCode, $"{detail.AsSpan(0, MaxDetailChars)}... (cut, {detail.Length} characters)")
        : status;

    // A buffer of this thread, which the next head overwrites.
    private static PooledBufferWriter GetEmptyHead()
    {
        PooledBufferWriter head = s_head ??= new PooledBufferWriter();
        head.Clear();
        return head;
    }

    // Returns true to the one thread that ends the call.
    private bool TrySetEnded(StatusCode status)
    {
        // The client sees any other code as Unknown.
        int code = (uint)status <= (uint)StatusCode.Unauthenticated ? (int)status : (int)StatusCode.Unknown;
        return Interlocked.CompareExchange(ref _endStatus, EndMark | code, 0) == 0;
    }

    private bool EndOnce(
        in StatusTrailer trailer,
        FrameSerializationContext? response = null,
        bool isStop = false,
        bool isLogged = false)
    {
        // Encoded first, because encoding may throw: no other thread ends a call that is marked as ended.
        PooledBufferWriter head = EncodeEnd(trailer, out Status sent, out bool isWithoutDetails);
        if (!TrySetEnded(sent.StatusCode))
        {
            return false;
        }

        try
        {
            if (sent.StatusCode != trailer.Status.StatusCode)
            {
                ReportTrailers(sent);
            }

            if (isWithoutDetails)
            {
                ReportDetailsLeftOut();
            }

            if (IsOneWay && EndStatusCode != StatusCode.OK)
            {
                ReportOneWay(trailer.Status, isLogged);
            }

            if (isStop)
            {
                // The End must not wait behind a message without credit: a client that does not read grants none.
                Connection.Sender.StopMessages(this);
            }
            else
            {
                // Before the End is sent: a client that then starts its next call finds the place free.
                RemoveMethod();
            }

            SendEnd(head, response);
        }
        catch (Exception exception)
        {
            // Probably memory is short. Nobody would end the call again, so its client would wait for ever.
            Connection.Close(new CloseReason(CloseKind.InternalError, exception.Message, exception));
            throw;
        }

        AfterEnd(cancelsMethod: isStop);
        return true;
    }

    private void SendEnd(PooledBufferWriter head, FrameSerializationContext? response)
    {
        FrameFlags flags = FrameFlags.None;
        ReadOnlySpan<byte> message = default;
        if (response is { HasSentParts: false }
            && head.Length + response.Bytes.Length <= Connection.Sender.SingleRecordBytes)
        {
            flags = FrameFlags.HasMessage;
            message = response.Bytes.WrittenSpan;
        }
        else if (response is not null)
        {
            // The frames of a call keep their order: the End is sent after the message.
            Connection.Sender.SendMessage(this, FrameFlags.Single, response.Bytes);
        }

        Connection.Sender.Send(this, FrameKind.End, flags, head.WrittenSpan, message);
    }

    private void ReportDetailsLeftOut() => LimitEvents.Reached(
        Settings.Logger,
        StatusMapping.MetadataOption,
        MetadataLimit,
        $"{owner.PeerName}: {MethodName} failed, and the client gets the status without its details.");

    private void ReportTrailers(Status sent)
    {
        (string method, var why) = (MethodName, new RpcException(sent));
        DeferredLog.Write(
            Settings.Logger, logger => ShmLog.MethodEndedWithStatus(logger, method, sent.StatusCode, why));
    }

    // The failure is logged here, because the client may have no handler for it or may be gone.
    private void ReportOneWay(Status status, bool isLogged)
    {
        if (!IsRequestKnownComplete && !_isRefused)
        {
            return; // The client has cancelled the call, or its deadline has passed, before the request was whole.
        }

        Telemetry.OneWayFailed.Count(EndStatusCode.ToString()); // as on the wire: a method may make up other codes
        if (!isLogged)
        {
            (string method, string peer) = (PeerText.Escape(MethodName, PeerText.LongestName), owner.PeerName);
            DeferredLog.Write(
                Settings.Logger,
                logger => ShmLog.OneWayCallFailed(logger, method, peer, status.StatusCode, status.Detail));
        }
    }
}
