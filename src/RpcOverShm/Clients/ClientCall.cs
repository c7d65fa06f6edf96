using System.Diagnostics;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <summary>
/// One outgoing call, whatever its shape: how it begins, and how it ends exactly once. Everything that can end
/// it (the server's End, a cancel, the deadline, Dispose, a lost connection, an unreadable message) races to
/// settle the outcome. Tasks that users await are completed on the thread pool, never by the thread that reads
/// the ring or that cancels.
/// </summary>
internal abstract class ClientCall : ConnectionCall, IThreadPoolWorkItem
{
    private readonly ResponseHeaders _headers = new();
    private CallOutcome _outcome;
    private StatusTrailer _end;
    private volatile bool _hasEnded;
    private bool _isEndFromServer;
    private CallDeadline? _deadline;
    private CancellationTokenRegistration _cancellation;
    private Connection? _connection;

    protected ClientCall(ClientSettings settings, string methodName, in CallOptions options)
    {
        Settings = settings;
        MethodName = methodName;
        Options = options;
    }

    public string MethodName { get; }

    public bool IsFinished => _outcome.IsSettled;

    public Status Status => _outcome.Status;

    public Metadata Trailers => _outcome.Trailers;

    public Task<Metadata> HeadersAsync => _headers.GetAsync();

    protected ClientSettings Settings { get; }

    protected CallOptions Options { get; }

    /// <summary>The connection, once the call was started on one.</summary>
    protected Connection? Connection => Volatile.Read(ref _connection);

    /// <summary>
    /// True once the server has ended the call, or the connection has. The outcome may not be settled yet.
    /// </summary>
    public bool HasEnded => _hasEnded;

    /// <summary>True when nothing more can be sent.</summary>
    public bool IsOver => IsFinished || HasEnded;

    /// <summary>What is left until the deadline; null without one.</summary>
    public TimeSpan? Remaining => _deadline?.Remaining;

    /// <summary>How the call was ended by the server or with the connection, once it was.</summary>
    protected Status EndStatus => _end.Status;

    /// <summary>
    /// What a call that is over, or about to be with its connection, throws at whoever waits for it.
    /// </summary>
    public RpcException ToException() => IsFinished
        ? _outcome.ToException()
        : HasEnded || Connection?.CloseReason is not { } reason
            ? new RpcException(_end.Status, _end.Metadata ?? Metadata.Empty)
            : new RpcException(StatusMapping.FromClose(reason));

    /// <summary>
    /// Arms the deadline and the cancellation. False when the call has ended with that: it is not to be started.
    /// </summary>
    /// <param name="timeout">What is left until the deadline; null for none.</param>
    public bool TryArm(TimeSpan? timeout)
    {
        if (timeout <= TimeSpan.Zero)
        {
            Finish(StatusMapping.ClientDeadline, isCancel: false);
        }
        else if (Options.CancellationToken.IsCancellationRequested)
        {
            Finish(StatusMapping.ClientCancelled, isCancel: false);
        }
        else
        {
            _deadline = timeout is { } time ? new CallDeadline(time, OnDeadline) : null;
            _cancellation = Options.CancellationToken.UnsafeRegister(
                static call => ((ClientCall)call!).Finish(StatusMapping.ClientCancelled, isCancel: true), this);

            // Either may have fired before it was stored.
            ReleaseTimersIfFinished();
        }

        return !IsFinished;
    }

    /// <summary>The user has lost interest: an unfinished call is cancelled.</summary>
    public void Dispose() => Finish(StatusMapping.Disposed, isCancel: true);

    /// <summary>
    /// Ends the call with a status that this side has found, unless it has ended, and tells whoever waits.
    /// </summary>
    /// <param name="status">How.</param>
    /// <param name="isCancel">Whether the server must hear of it, if it knows the call and has not ended it.</param>
    public bool Finish(in Status status, bool isCancel)
    {
        if (!TrySettle(status, null, isCancel))
        {
            return false;
        }

        NotifyWaiters();
        return true;
    }

    /// <summary>The request could not be sent: ends the call.</summary>
    public void FinishUnsent(in Status status)
    {
        ShmLog.CallNotStarted(Settings.Logger, MethodName, status.Detail, status.DebugException);
        Finish(status, isCancel: false);
    }

    /// <summary>
    /// Notes the connection before the call is started on it. False when the call has ended: then it must not be
    /// started. A call that ends later finds the connection, and is given up there.
    /// </summary>
    public bool TryAttach(Connection connection)
    {
        Interlocked.Exchange(ref _connection, connection);
        return !IsFinished;
    }

    /// <summary>On the thread pool: completes what users await.</summary>
    public abstract void Execute();

    public override void OnHeaders(ReadOnlySpan<byte> head)
    {
        var from = new WireReader(head);
        Metadata headers = MetadataCodec.Decode(ref from);
        from.End("response metadata");
        if (MetadataCodec.MeasureBytes(headers) > LimitOfMetadata)
        {
            OnHeadTooLarge(FrameKind.Headers);
            return;
        }

        _headers.Set(headers);
    }

    public override void OnHeadTooLarge(FrameKind kind)
    {
        string what = kind == FrameKind.Headers ? "The response's metadata" : "The response's trailing metadata";
        Status status = StatusMapping.MetadataTooLarge(what, LimitOfMetadata);
        if (kind == FrameKind.End)
        {
            SetEnd(new StatusTrailer(status, null), default, hasMessage: false);
        }
        else
        {
            Finish(status, isCancel: true);
        }
    }

    public override void OnEnd(ReadOnlySpan<byte> head, ReadOnlySpan<byte> message, FrameFlags flags)
    {
        StatusTrailer end = StatusTrailer.Decode(head);
        if (end.Metadata is not null && MetadataCodec.MeasureBytes(end.Metadata) > LimitOfMetadata)
        {
            OnHeadTooLarge(FrameKind.End);
            return;
        }

        bool hasMessage = (flags & FrameFlags.HasMessage) != 0;
        if (!IsFinished)
        {
            CheckEnd(end.Status, hasMessage);
        }

        SetEnd(Localize(end), message, hasMessage);
    }

    public override void OnConnectionClosed(CloseReason reason)
    {
        // What came before counts; a stream can still be read to where it broke off.
        if (!_hasEnded)
        {
            Status status = StatusMapping.FromClose(reason);
            _headers.Fail(new RpcException(status));
            SetEnd(new StatusTrailer(status, null), default, hasMessage: false, isFromServer: false);
            Waiter?.Signal();
        }

        Connection?.DropQueued(this);
    }

    /// <summary>A message began to come: so has the answer, without headers if none came before.</summary>
    protected void NoteAnswer() => _headers.Set(Metadata.Empty);

    /// <summary>Refuses an end that may not come now, before anything has changed.</summary>
    /// <exception cref="ProtocolException">The server may not end the call like this.</exception>
    protected virtual void CheckEnd(in Status status, bool hasMessage)
    {
    }

    /// <summary>
    /// The server has ended the call: <see cref="EndStatus"/> is set. By the holder of the reader role, or by the
    /// standby after a close.
    /// </summary>
    protected abstract void OnEnded(ReadOnlySpan<byte> message, bool hasMessage);

    /// <summary>The outcome is settled; frees what the shape of the call holds.</summary>
    protected abstract void OnFinished();

    /// <summary>Settles the outcome, unless it is settled, and frees what the call holds.</summary>
    protected bool TrySettle(in Status status, Metadata? trailers, bool isCancel)
    {
        if (!_outcome.TrySettle(status, trailers))
        {
            return false;
        }

        ReleaseTimersIfFinished();
        _headers.Fail(ToException());
        Connection?.Abandon(this, isCancel);
        OnFinished();
        return true;
    }

    /// <summary>
    /// Settles the outcome as the server has ended the call, or worse where its message could not be read.
    /// </summary>
    protected bool TrySettleAsEnded(in Status status)
    {
        Debug.Assert(_hasEnded, "The server's end was read.");
        return TrySettle(status, _end.Metadata ?? (_isEndFromServer ? [] : null), isCancel: false);
    }

    /// <summary>Wakes the caller that blocks, or completes what users await, on the thread pool.</summary>
    protected void NotifyWaiters()
    {
        if (Waiter is null)
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
        else if (!IsDone)
        {
            SetDone();
            Waiter.Signal();
            Connection?.WakeReaders();
        }
    }

    private int LimitOfMetadata => (int)_connection!.OwnLimits.MaxMetadataBytes;

    // Both sides measure one deadline, and the server's word may come first; then it is this side's own end all the same.
    private StatusTrailer Localize(in StatusTrailer end) =>
        end.Status.StatusCode == StatusCode.DeadlineExceeded
        && end.Status.Detail == StatusMapping.ServerDeadlineDetail
        && Remaining <= TimeSpan.Zero
            ? new StatusTrailer(StatusMapping.ClientDeadline, end.Metadata)
            : end;

    private void SetEnd(in StatusTrailer end, ReadOnlySpan<byte> message, bool hasMessage, bool isFromServer = true)
    {
        if (isFromServer)
        {
            NoteAnswer();
        }

        _isEndFromServer = isFromServer;
        _end = end;
        _hasEnded = true;
        if (!IsFinished)
        {
            OnEnded(message, hasMessage);
        }
    }

    private void OnDeadline()
    {
        if (Finish(StatusMapping.ClientDeadline, isCancel: true))
        {
            ShmLog.DeadlineExceeded(Settings.Logger, MethodName);
        }
    }

    private void ReleaseTimersIfFinished()
    {
        if (IsFinished)
        {
            _deadline?.Dispose();
            _cancellation.Unregister();
        }
    }
}
