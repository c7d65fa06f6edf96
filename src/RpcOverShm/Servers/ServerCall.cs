using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;

namespace RpcOverShm.Servers;

/// <summary>
/// One call that this server serves: from its first frame, through the user's method, wherever that runs, to the End
/// that goes to the client exactly once. The method's result, the deadline, the client's cancel, a refusal and the end
/// of the connection race for that; the first wins, what comes later is dropped.
/// </summary>
internal sealed class ServerCall(ServerConnection owner) : ConnectionCall, IMessageChunkSink
{
    private ServerCallCancellation? _token;        // made when somebody asks for it
    private ReceivedMessage _request;    // the request of a call that has just one, and had it in its first frame
    private MethodHandler? _handler;
    private CallDeadline? _deadline;
    private volatile bool _isStopped; // ended from outside its method
    private int _ended;
    private int _hasAnswered; // headers or a message went out
    private bool _hasRequest; // one has begun to come; the reader role's own
    private bool _isRefused;  // the method never runs; the reader role's own
    private volatile bool _isResponseEncoded;

    /// <summary>The full name, with the leading slash.</summary>
    public string MethodName { get; private set; } = "";

    /// <summary>The authority that the client named; gRPC's own default for local sockets when it named none.</summary>
    public string Host { get; private set; } = "localhost";

    /// <summary>UTC; the largest value when the client set none.</summary>
    public DateTime Deadline { get; private set; } = DateTime.MaxValue;

    public Metadata RequestHeaders { get; private set; } = Metadata.Empty;

    /// <summary>Null for the generated marshallers.</summary>
    public string? Codec { get; private set; }

    public ParsedMessage? Parsed { get; private set; }

    /// <summary>Null for a call that has just one and had it in its first frame. Set before the method runs.</summary>
    public RequestMessages? Requests { get; private set; }

    public CancellationToken CancellationToken => ServerCallCancellation.Get(ref _token);

    public bool HasToldMethod => ServerCallCancellation.HasTold(Volatile.Read(ref _token));

    public override InlineBudget Budget => _handler!.Budget;

    public ServerConnection Owner => owner;

    public int? MaxSendMessageBytes => _isResponseEncoded ? null : Settings.MaxSendMessageBytes;

    /// <summary>How requests are encoded; null for not at all.</summary>
    public string? RequestEncoding { get; private set; }

    public bool IsLastRequestCompressed { get; set; }

    /// <summary>True once the call was ended from outside its method. The token may fire a little later.</summary>
    public bool IsStopped => _isStopped;

    /// <summary>True once the client was told how the call ended, or cannot be told any more.</summary>
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
            Interlocked.MemoryBarrier(); // Whoever ends the call meanwhile sees them, or is seen below.
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
            // Not kept until it is read: a client that goes on would fill this process's memory.
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

        // Also where the method has ended: what it answered may wait for credit that nobody gives any more.
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

    /// <summary>Ends the call because a response that was sent in part can't be completed.</summary>
    public void Fail(Exception exception)
    {
        Status status = StatusMapping.FromHandlerException(exception, Settings.HasDetailedErrors);
        Stop(status.StatusCode == StatusCode.OK ? StatusMapping.MessageBrokenOff : status);
    }

    /// <summary>Ends the call from outside its method, which hears of it by its token.</summary>
    public void Stop(in Status status)
    {
        _isStopped |= !IsEnded; // Before the end: whoever sees that, and is not the method itself, must see why.
        if (Interlocked.Exchange(ref _ended, 1) == 0)
        {
            // The end must not wait behind a message that has no credit: a client that does not read gives none.
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

    /// <summary>The method has ended: nobody reads its request any more.</summary>
    public void OnMethodReturned()
    {
        _request.Release();
        Requests?.ReleaseFirst();
        owner.Running.RemoveByAnyThread();
    }

    /// <summary>Takes the request of a call that has just one. Once, by the method.</summary>
    /// <exception cref="RpcException">There is none.</exception>
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

    /// <summary>Sends response metadata ahead of the first message.</summary>
    /// <exception cref="InvalidOperationException">
    /// Headers or a message went out before, or the metadata cannot be sent.
    /// </exception>
    /// <exception cref="RpcException">The metadata is larger than the client takes.</exception>
    public void SendHeaders(Metadata headers)
    {
        if (IsEnded)
        {
            throw new InvalidOperationException("Can't send the response headers because the request is complete.");
        }

        // One look at what is the method's: it may be changed meanwhile, and what was checked is what is sent.
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

    /// <summary>Writes a response as the call's are encoded. Ahead of the first one, the headers say so.</summary>
    public Marshaller<T> Encoding<T>(Marshaller<T> marshaller, WriteOptions? options)
    {
        if (Settings.ResponseEncoding is { } encoding && Interlocked.Exchange(ref _hasAnswered, 1) == 0)
        {
            _isResponseEncoded = true;
            ResponseFrames.SendHeaders(Connection, this, Metadata.Empty, encoding);
        }

        return _isResponseEncoded ? Settings.Encoded(marshaller, options) : marshaller;
    }

    /// <summary>Sends a message of a response stream; see <see cref="MessageSender.SendAsync"/>.</summary>
    public Task<bool> SendMessageAsync(PooledBufferWriter bytes)
    {
        Volatile.Write(ref _hasAnswered, 1);
        return Connection.SendMessageAsync(this, FrameFlags.None, bytes);
    }

    /// <summary>Sends a part of a message; see <see cref="MessageSender.SendPart"/>.</summary>
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

    /// <summary>
    /// Ends the call with the one message that its method has returned, and with the status the method has set.
    /// </summary>
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
    /// <exception cref="Exception">The trailers were changed meanwhile; the call has not ended.</exception>
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
        Interlocked.Exchange(ref _deadline, deadline); // Whoever ends the call sees it, or is seen here.
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
        // First, because it may throw: a call that is marked as ended is ended by nobody else.
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
                QueueUserCode(PendingUserCode.Start); // It was counted, and is counted out.
            }
        }
    }

    // By the holder of the reader role.
    private void BeginIfDue()
    {
        if (Requests?.TryBegin(IsEnded) == true)
        {
            AddUserCode(PendingUserCode.Start);
        }
    }

    // Null for a call that was refused: its end may wait for space while its requests still come. A request where none
    // may come is the peer's fault.
    private InboundMessages? Inbound() => Requests is not null
        ? Requests.Inbound
        : _isRefused
            ? null
            : throw new ProtocolException(
                $"A message of call {Id} {(_handler is null ? "before its start" : "after the end of messages")}.");
}
