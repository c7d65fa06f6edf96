using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;

namespace RpcOverShm.Servers;

/// <summary>
/// An incoming call, from its first frame through its method to the End frame, which is sent exactly once. The method's
/// result, the deadline, a cancel by the client, a refusal and the end of the connection race to end the call. The
/// first wins; later ones are dropped.
/// </summary>
internal sealed class ServerCall(ServerConnection owner) : ConnectionCall, IMessageChunkSink
{
    private ServerCallCancellation? _token;        // made on first use
    private ReceivedMessage _request;    // the single request, if it came whole in the first frame
    private MethodHandler? _handler;
    private CallDeadline? _deadline;
    private volatile bool _isStopped; // ended from outside its method
    private int _ended;
    private int _hasAnswered; // headers or a message went out
    private bool _hasRequest; // a request has begun to arrive; private to the reader role
    private bool _isRefused;  // the method never runs; private to the reader role
    private volatile bool _isResponseEncoded;

    /// <summary>The full name of the method, with the leading slash.</summary>
    public string MethodName { get; private set; } = "";

    /// <summary>The authority that the client named; else gRPC's default for local sockets.</summary>
    public string Host { get; private set; } = "localhost";

    /// <summary>The deadline in UTC; the maximum value if the client set none.</summary>
    public DateTime Deadline { get; private set; } = DateTime.MaxValue;

    public Metadata RequestHeaders { get; private set; } = Metadata.Empty;

    /// <summary>The codec that the client chose; null for the generated marshallers.</summary>
    public string? Codec { get; private set; }

    /// <summary>The request that was parsed in place; null otherwise.</summary>
    public ParsedMessage? Parsed { get; private set; }

    /// <summary>
    /// The requests; null for a single request that came whole in the first frame. Set before the method runs.
    /// </summary>
    public RequestMessages? Requests { get; private set; }

    public CancellationToken CancellationToken => ServerCallCancellation.Get(ref _token);

    /// <summary>Whether the method asked for its token before it fired, and can know of the end.</summary>
    public bool HasToldMethod => ServerCallCancellation.HasTold(Volatile.Read(ref _token));

    public override InlineBudget Budget => _handler!.Budget;

    public ServerConnection Owner => owner;

    /// <summary>
    /// The maximum serialised size of a response in bytes; null for no limit. For encoded responses it is null, because
    /// their marshaller checks the limit before it compresses.
    /// </summary>
    public int? MaxSendMessageBytes => _isResponseEncoded ? null : Settings.MaxSendMessageBytes;

    /// <summary>The encoding of the requests; null for not encoded.</summary>
    public string? RequestEncoding { get; private set; }

    public bool IsLastRequestCompressed { get; set; }

    /// <summary>Whether the call was ended from outside its method. The token may fire a little later.</summary>
    public bool IsStopped => _isStopped;

    /// <summary>Whether the call has ended, by its End frame or with the connection.</summary>
    public bool IsEnded => Volatile.Read(ref _ended) != 0;

    public ServerSettings Settings => owner.Settings;

    private Connection Connection => owner.Connection;

    public override void OnStart(ReadOnlySpan<byte> head, ReadOnlySpan<byte> message, FrameFlags flags)
    {
        RequestHead request = RequestHead.Decode(head);
        _handler = Settings.Methods.Find(request.Method);
        MethodName = _handler?.FullName ?? System.Text.Encoding.UTF8.GetString(request.Method);
        Host = request.Host ?? Host;
        Codec = request.Codec;
        RequestHeaders = ReservedMetadata.HideFromMethod(request.Metadata);
        RequestEncoding = request.Encoding;
        if (CallAdmission.Refuse(owner, MethodName, _handler, request, message.Length) is { } refusal)
        {
            _isRefused = true;
            TryEnd(refusal);
            return;
        }

        const FrameFlags Whole = FrameFlags.HasMessage | FrameFlags.HalfClose;
        _hasRequest = (flags & FrameFlags.HasMessage) != 0;
        if (_handler!.IsRequestStream || (flags & Whole) != Whole)
        {
            Requests = new RequestMessages(message, flags, _handler!, Settings, this);
            Interlocked.MemoryBarrier(); // StoreLoad: a thread that ends the call sees them, or its end is seen below.
        }

        if (request.Timeout is { } timeout)
        {
            StartDeadline(timeout);
        }

        if (Requests is null && Settings.AllowInPlaceParsing)
        {
            Parsed = _handler.ParseInPlace(this, message);
        }
        else if (Requests is null)
        {
            _request = ReceivedMessage.Of(message, _handler.RequestHint(RequestEncoding));
        }

        if (Requests is null || Requests.TryBegin(IsEnded))
        {
            AddUserCode(PendingUserCode.Start);
        }
    }

    public override void GrantCredit(uint bytes) => Connection.SendCredit(this, bytes);

    public override void OnHeadTooLarge(FrameKind kind)
    {
        _isRefused = true;
        Status status = StatusMapping.MetadataTooLarge("The request's metadata", Settings.MaxMetadataBytes);
        TryEnd(new StatusTrailer(status, Metadata: null, IsNotProcessed: true));
    }

    public override void OnMessage(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        if (Inbound() is not { } inbound)
        {
            return;
        }

        if (_hasRequest && !_handler!.IsRequestStream)
        {
            // Refused on arrival. If it were kept until read, a client could fill this process's memory.
            Stop(StatusMapping.AdditionalMessage);
            return;
        }

        _hasRequest = true;
        if (inbound.Add(wholeLength, bytes, flags) is { } problem)
        {
            MessageTooLargeException.LogIfSo(Settings.Logger, MethodName, "server", problem);
            Stop(problem);
        }

        BeginIfDue();
    }

    public override void OnMessageChunk(ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        Inbound()?.AddChunk(bytes, flags);
        BeginIfDue();
    }

    public override void OnHalfClose()
    {
        Inbound()?.End();
        BeginIfDue();
    }

    public override void OnCancel()
    {
        PartialHead?.Dispose();
        PartialHead = null;

        // Even if the method has ended: its response may wait for credit that the client never grants after a cancel.
        Connection.CutShort(this);
        Stop(Status.DefaultCancelled);
    }

    public override void OnConnectionClosed(CloseReason reason)
    {
        _isStopped |= !IsEnded;
        if (Interlocked.Exchange(ref _ended, 1) == 0)
        {
            AfterEnd(isToldMethod: true);
        }

        Connection.DropQueued(this);
    }

    /// <summary>Ends the call because a partly sent response can't be completed.</summary>
    public void Fail(Exception exception)
    {
        Status status = StatusMapping.FromHandlerException(exception, Settings.HasDetailedErrors);
        Stop(status.StatusCode == StatusCode.OK ? StatusMapping.MessageBrokenOff : status);
    }

    /// <summary>Ends the call from outside its method. The method's token fires.</summary>
    public void Stop(in Status status)
    {
        _isStopped |= !IsEnded; // Set before _ended: a thread that sees the call ended must also see the cause.
        if (Interlocked.Exchange(ref _ended, 1) == 0)
        {
            // The End must not wait behind a message without credit: a client that does not read grants none.
            Connection.CutShort(this);
            ResponseFrames.SendEnd(
                Connection, this, ResponseFrames.EncodeEnd(Connection, new StatusTrailer(status, null)));
            AfterEnd(isToldMethod: true);
        }
    }

    protected override void Execute(PendingUserCode work)
    {
        if ((work & PendingUserCode.Start) != 0)
        {
            MethodInvoker.Begin(this, _handler!);
        }

        if ((work & PendingUserCode.WakeReader) != 0)
        {
            Requests!.CompleteWait();
        }
    }

    /// <summary>Releases the request and uncounts the method, which has ended.</summary>
    public void OnMethodReturned()
    {
        _request.Release();
        Requests?.ReleaseFirst();
        owner.Running.RemoveByAnyThread();
    }

    /// <summary>Takes the single request of the call. The method's thread calls this once.</summary>
    /// <exception cref="RpcException">The client sent no request.</exception>
    public ReceivedMessage TakeRequest()
    {
        if (Requests is not null)
        {
            return Requests.TakeSingle();
        }

        ReceivedMessage bytes = _request;
        _request = default;
        return bytes;
    }

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
        string? wanted = MessageEncoding.Take(MessageEncoding.RequestedKey, ref headers) ?? Settings.ResponseEncoding;
        string? encoding = wanted == MessageEncoding.Identity ? null : wanted;
        ResponseFrames.ThrowIfUnsendable(headers, encoding, Connection.PeerLimits.MaxMetadataBytes);
        if (Interlocked.Exchange(ref _hasAnswered, 1) != 0)
        {
            throw new InvalidOperationException("Response headers can only be sent once per call.");
        }

        _isResponseEncoded = encoding is not null;
        ResponseFrames.SendHeaders(Connection, this, headers, encoding);
    }

    /// <summary>
    /// Returns a marshaller that writes responses in the call's encoding. If nothing was sent yet and the server has a
    /// default encoding, sends headers that name it.
    /// </summary>
    public Marshaller<T> Encoding<T>(Marshaller<T> marshaller, WriteOptions? options)
    {
        if (Settings.ResponseEncoding is { } encoding && Interlocked.Exchange(ref _hasAnswered, 1) == 0)
        {
            _isResponseEncoded = true;
            ResponseFrames.SendHeaders(Connection, this, Metadata.Empty, encoding);
        }

        return _isResponseEncoded ? Settings.Encoded(marshaller, options) : marshaller;
    }

    /// <summary>Sends a message of a response stream. See <see cref="MessageSender.SendAsync"/>.</summary>
    public Task<bool> SendMessageAsync(PooledBufferWriter bytes)
    {
        Volatile.Write(ref _hasAnswered, 1);
        return Connection.SendMessageAsync(this, FrameFlags.None, bytes);
    }

    /// <summary>Sends a part of a message. See <see cref="MessageSender.SendPart"/>.</summary>
    public int SendPart(FrameFlags flags, ReadOnlySpan<byte> part, int wholeLength)
    {
        int sent = Connection.SendPart(this, flags, part, wholeLength);
        if (sent > 0)
        {
            Volatile.Write(ref _hasAnswered, 1);
        }

        return sent;
    }

    int IMessageChunkSink.SendPart(ReadOnlySpan<byte> part, int wholeLength) =>
        SendPart(FrameFlags.Single, part, wholeLength);

    /// <summary>Ends the call with the single response of its method and the status that the method set.</summary>
    public void EndWith<T>(Marshaller<T> marshaller, T? response, ShmServerCallContext context)
        where T : class
    {
        if (response is null)
        {
            EndWith(new Status(StatusCode.Cancelled, StatusMapping.NoMessageDetail), context.SetTrailers);
            return;
        }

        using FrameSerializationContext serialized = ResponseFrames.SerializeLast(
            this, Encoding(marshaller, context.WriteOptions), response);
        PooledBufferWriter head = ResponseFrames.EncodeEnd(
            Connection, new StatusTrailer(context.Status, context.SetTrailers));
        if (Interlocked.Exchange(ref _ended, 1) == 0)
        {
            ResponseFrames.SendEnd(Connection, this, head, serialized.Bytes, serialized.HasSentParts);
            AfterEnd(isToldMethod: false);
        }
    }

    /// <summary>Ends the call, unless it has ended.</summary>
    /// <exception cref="Exception">The method changed the trailers meanwhile. The call has not ended.</exception>
    public void EndWith(in Status status, Metadata? trailers)
    {
        if (IsEnded)
        {
            return;
        }

        bool isBroken = Connection.BreakOff(this) && status.StatusCode == StatusCode.OK;
        if (TryEnd(new StatusTrailer(isBroken ? StatusMapping.MessageBrokenOff : status, trailers)))
        {
            AfterEnd(isToldMethod: false);
        }
    }

    private void StartDeadline(TimeSpan timeout)
    {
        Deadline = CallDeadline.UtcAfter(timeout, TimeProvider.System);
        var deadline = new CallDeadline(timeout, OnDeadline);
        Interlocked.Exchange(ref _deadline, deadline); // StoreLoad: a thread that ends the call sees it, or is seen.
        if (IsEnded)
        {
            deadline.Dispose();
        }
    }

    private void OnDeadline()
    {
        ShmLog.ServerDeadlineExceeded(Settings.Logger, MethodName);
        Stop(StatusMapping.ServerDeadline);
    }

    private bool TryEnd(StatusTrailer trailer)
    {
        // Encoded first, because encoding may throw: no other thread ends a call that is marked as ended.
        PooledBufferWriter head = ResponseFrames.EncodeEnd(Connection, trailer);
        if (Interlocked.Exchange(ref _ended, 1) != 0)
        {
            return false;
        }

        ResponseFrames.SendEnd(Connection, this, head);
        return true;
    }

    private void AfterEnd(bool isToldMethod)
    {
        Volatile.Read(ref _deadline)?.Dispose();
        Requests?.Abort();
        if (isToldMethod)
        {
            ServerCallCancellation.Fire(ref _token);
            if (Requests?.TryBegin(isEnded: true) == true)
            {
                QueueUserCode(PendingUserCode.Start); // The method was counted as running. The run uncounts it.
            }
        }
    }

    // Only the holder of the reader role calls this.
    private void BeginIfDue()
    {
        if (Requests?.TryBegin(IsEnded) == true)
        {
            AddUserCode(PendingUserCode.Start);
        }
    }

    // Null for a refused call, whose requests may still arrive while its End waits for space. Any other message that is
    // out of place is a protocol error of the peer.
    private InboundMessages? Inbound() => Requests is not null
        ? Requests.Inbound
        : _isRefused
            ? null
            : throw new ProtocolException(
                $"A message of call {Id} {(_handler is null ? "before its start" : "after the end of messages")}.");
}
