using System.Diagnostics;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Clients;

/// <summary>
/// One outgoing call, whatever its shape: how it begins, and how it ends exactly once. Everything that can end it (the
/// server's End, a cancel, the deadline, Dispose, a lost connection, an unreadable message) races to settle the
/// outcome. Tasks that users await are completed as work of the call: by the thread that reads the ring, where that may
/// run user code, or on the thread pool; never by the thread that cancels.
/// </summary>
internal abstract class ClientCall : ConnectionCall
{
    // A server that refuses calls has announced that it leaves: the next one is met over another connection.
    private const int MaxRenewals = 3;

    private CallEnd? _outcome;      // how the call has ended for its user; set once
    private volatile CallEnd? _end; // how the server, or the connection, has ended it; the user may not be there yet
    private ResponseHeaders _headers;
    private CallGuards? _guards;
    private Connection? _connection;
    private object? _origin;        // what the call was made from, as long as it may be started anew
    private bool _isStartedAhead;
    private volatile bool _isHandedOver;
    private bool _isRefused;        // the server has ended it before a method saw it
    private byte _renewals;

    public abstract string MethodName { get; }

    public bool IsFinished => Volatile.Read(ref _outcome) is not null;

    public Status Status => (Volatile.Read(ref _outcome)
        ?? throw new InvalidOperationException("Unable to get the status because the call is not complete.")).Status;

    public Metadata Trailers => (Volatile.Read(ref _outcome)
        ?? throw new InvalidOperationException(
            "Can't get the call trailers because the call has not completed successfully.")).Trailers;

    public override InlineBudget Budget => _connection!.Budget;

    /// <summary>True when nothing more can be sent: the call has ended, though its user may not know yet.</summary>
    public bool IsOver => IsFinished || _end is not null;

    /// <summary>What is left until the deadline; null without one.</summary>
    public TimeSpan? Remaining => _guards?.Remaining;

    /// <summary>Fires when the call has ended; none where nothing but its user can end it.</summary>
    public CancellationToken Ended => Volatile.Read(ref _guards)?.Ended ?? CancellationToken.None;

    protected abstract ClientSettings Settings { get; }

    /// <summary>The connection, once the call was started on one.</summary>
    protected Connection? Connection => Volatile.Read(ref _connection);

    /// <summary>How the server, or the connection, has ended the call; null before.</summary>
    protected CallEnd? End => _end;

    /// <summary>The outcome of a call that has ended for its user.</summary>
    protected CallEnd Outcome => Volatile.Read(ref _outcome)!;

    /// <summary>
    /// True for a call that a thread blocks for and nothing else can end: only the holder of the reader role and, once
    /// that has said that the call is done, this thread touch it, so neither has to race.
    /// </summary>
    protected bool IsPrivate => Waiter is not null && _guards is null && !_isStartedAhead;

    /// <summary>True while no deadline, token or task hangs on the call besides what its thread holds.</summary>
    protected bool IsPlain => _guards is null && !_headers.IsAwaited;

    /// <summary>
    /// What a call that is over, or about to be with its connection, throws at whoever waits for it.
    /// </summary>
    public Exception ToException()
    {
        // A write may be refused because the end is being read: the reader is about to say how, or to close for it.
        var spin = default(SpinWait);
        while (true)
        {
            if ((Volatile.Read(ref _outcome) ?? _end) is { } end)
            {
                return ToException(end);
            }

            if (Connection?.CloseReason is { } reason)
            {
                return new RpcException(StatusMapping.FromClose(reason));
            }

            spin.SpinOnce();
        }
    }

    /// <summary>The response's metadata: with the first frame of the answer, or failed where none came.</summary>
    public Task<Metadata> GetHeadersAsync()
    {
        Task<Metadata> headers = _headers.GetAsync();
        FailHeadersIfFinished();
        return headers;
    }

    /// <summary>
    /// Arms the deadline and the cancellation. False when the call has ended with that: it is not to be started.
    /// </summary>
    /// <param name="options">The caller's.</param>
    /// <param name="isLongBegun">Whether the call may be long in being started: then its end must be heard of.</param>
    /// <exception cref="InvalidOperationException">The deadline is not UTC.</exception>
    public bool TryArm(in CallOptions options, bool isLongBegun = false)
    {
        TimeSpan? timeout = CallTimeout.Of(options);
        CancellationToken cancellationToken = options.CancellationToken;
        if (timeout <= TimeSpan.Zero)
        {
            Finish(StatusMapping.ClientDeadline, isCancel: false);
        }
        else if (cancellationToken.IsCancellationRequested)
        {
            Cancel(cancellationToken);
        }
        else if (timeout is not null || cancellationToken.CanBeCanceled || options.IsWaitForReady || isLongBegun)
        {
            var guards = new CallGuards(this);
            Volatile.Write(ref _guards, guards);
            guards.Arm(timeout, cancellationToken);
            if (IsFinished)
            {
                // Whoever has ended it meanwhile may have released what was not armed yet.
                guards.Release();
            }
        }

        return !IsFinished;
    }

    /// <summary>The user has lost interest: an unfinished call is cancelled.</summary>
    public void Dispose() => Finish(StatusMapping.Disposed, isCancel: true);

    /// <summary>A token of the user was cancelled, and with it the call.</summary>
    public void Cancel(CancellationToken by) => Finish(CallEnd.Local(StatusMapping.ClientCancelled, by), isCancel: true);

    /// <summary>
    /// Ends the call with a status that this side has found, unless it has ended, and tells whoever waits.
    /// </summary>
    /// <param name="status">How.</param>
    /// <param name="isCancel">Whether the server must hear of it, if it knows the call and has not ended it.</param>
    public bool Finish(in Status status, bool isCancel) => !IsFinished && Finish(CallEnd.Local(status), isCancel);

    private bool Finish(CallEnd end, bool isCancel)
    {
        if (IsFinished || !TrySettle(end, isCancel))
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

        // The server may know of a call whose request was to follow in parts.
        Finish(status, isCancel: true);
    }

    /// <summary>The deadline has passed.</summary>
    public void OnDeadline()
    {
        if (Finish(StatusMapping.ClientDeadline, isCancel: true))
        {
            ShmLog.DeadlineExceeded(Settings.Logger, MethodName);
        }
    }

    /// <summary>The call is about to be started while its request is still being serialised, which may fail.</summary>
    public void NoteStartedAhead() => _isStartedAhead = true;

    /// <summary>
    /// Notes the connection before the call is started on it. False when the call has ended: then it must not be
    /// started. A call that ends later finds the connection, and is given up there.
    /// </summary>
    public bool TryAttach(Connection connection)
    {
        if (IsPrivate)
        {
            Volatile.Write(ref _connection, connection);
        }
        else
        {
            // A full fence: whoever ends the call looks for the connection after that, and this thread for the end
            // after this.
            Interlocked.Exchange(ref _connection, connection);
        }

        return !IsFinished;
    }

    /// <summary>Keeps what the call is made from: a server that refuses it unseen is not its last chance.</summary>
    public void KeepOrigin(object origin) => _origin = origin;

    /// <summary>Nothing of the request is in the hands of the thread that has started the call any more.</summary>
    public void NoteHandedOver() => _isHandedOver = true;

    /// <summary>
    /// Makes a call as new that its server has refused unseen: it is to be started once more. False for any other.
    /// </summary>
    public bool TryRenew()
    {
        if (!_isRefused)
        {
            return false;
        }

        // A full fence before the look: whoever ends the call meanwhile finds no connection to tell, or is found.
        Connection refusing = Interlocked.Exchange(ref _connection, null)!;
        if (IsFinished)
        {
            return false;
        }

        if (!refusing.TryLetGo(this))
        {
            Finish(StatusMapping.ServerStopping, isCancel: false);
            return false;
        }

        _isRefused = false;
        _isHandedOver = false;
        ResetForReuse();
        return true;
    }

    /// <summary>Starts a call anew that its server has refused unseen.</summary>
    public void StartAnew()
    {
        object origin = _origin!;
        if (TryRenew())
        {
            Start(origin);
        }
    }

    public override void GrantCredit(uint bytes) => _connection!.SendCredit(this, bytes);

    public override void OnHeaders(ReadOnlySpan<byte> head)
    {
        var from = new WireReader(head);
        Metadata headers = MetadataCodec.Decode(ref from);
        from.End("response metadata");
        if (MetadataCodec.MeasureBytes(headers) > LimitOfMetadata)
        {
            OnHeadTooLarge(FrameKind.Headers);
        }
        else if (!_headers.HasCome)
        {
            _headers.Set(headers, IsPrivate);
        }
    }

    public override void OnHeadTooLarge(FrameKind kind)
    {
        string what = kind == FrameKind.Headers ? "The response's metadata" : "The response's trailing metadata";
        Status status = StatusMapping.MetadataTooLarge(what, LimitOfMetadata);
        if (kind == FrameKind.End)
        {
            NoteAnswer();
            SetEnd(CallEnd.Local(status), default, hasMessage: false);
        }
        else
        {
            Finish(status, isCancel: true);
        }
    }

    public override void OnEnd(ReadOnlySpan<byte> head, ReadOnlySpan<byte> message, FrameFlags flags)
    {
        bool hasMessage = (flags & FrameFlags.HasMessage) != 0;
        if (head.IsEmpty)
        {
            CheckUnlessFinished(Status.DefaultSuccess, hasMessage);
            NoteAnswer();
            SetEnd(CallEnd.Success, message, hasMessage);
            return;
        }

        StatusTrailer end = StatusTrailer.Decode(head);
        if (end.Metadata is not null && MetadataCodec.MeasureBytes(end.Metadata) > LimitOfMetadata)
        {
            OnHeadTooLarge(FrameKind.End);
            return;
        }

        if (end.IsNotProcessed && end.Status.StatusCode == StatusCode.Unavailable && TryNoteRefusal())
        {
            return;
        }

        CheckUnlessFinished(end.Status, hasMessage);
        NoteAnswer();
        SetEnd(CallEnd.FromServer(Localize(end.Status), end.Metadata), message, hasMessage);
    }

    public override void OnConnectionClosed(CloseReason reason)
    {
        // What came before counts; a stream can still be read to where it broke off.
        if (_end is null)
        {
            SetEnd(CallEnd.Local(StatusMapping.FromClose(reason)), default, hasMessage: false);
            FailHeadersIfFinished();
            Waiter?.Signal();
        }

        _connection?.DropQueued(this);
    }

    /// <summary>What the end of the call throws.</summary>
    protected Exception ToException(CallEnd end) => end.ToException(Settings.ThrowsOperationCanceled);

    /// <summary>Starts the call again that was made from this, which <see cref="KeepOrigin"/> was given.</summary>
    protected abstract void Start(object origin);

    /// <summary>A message began to come: so has the answer, without headers if none came before.</summary>
    protected void NoteAnswer()
    {
        if (!_headers.HasCome)
        {
            _headers.Set(Metadata.Empty, IsPrivate);
        }
    }

    /// <summary>Refuses an end that may not come now, before anything has changed.</summary>
    /// <exception cref="ProtocolException">The server may not end the call like this.</exception>
    protected virtual void CheckEnd(in Status status, bool hasMessage)
    {
    }

    /// <summary>
    /// The call was ended by the server or with the connection: <see cref="End"/> is set. By the holder of the reader
    /// role, or by the standby after a close.
    /// </summary>
    protected abstract void OnEnded(ReadOnlySpan<byte> message, bool hasMessage);

    /// <summary>The outcome is settled; frees what the shape of the call holds.</summary>
    protected abstract void OnFinished();

    /// <summary>Settles the outcome, unless it is settled, and frees what the call holds.</summary>
    /// <param name="outcome">How the call has ended.</param>
    /// <param name="isCancel">Whether the server must hear of it.</param>
    protected bool TrySettle(CallEnd outcome, bool isCancel)
    {
        if (IsPrivate)
        {
            if (IsFinished)
            {
                return false;
            }

            Volatile.Write(ref _outcome, outcome);
        }
        else if (Interlocked.CompareExchange(ref _outcome, outcome, null) is not null)
        {
            return false; // A full fence otherwise: see TryAttach.
        }

        Volatile.Read(ref _guards)?.Release();
        if (isCancel || !IsAllSent)
        {
            Connection?.Abandon(this, isCancel);
        }

        FailHeadersIfFinished();
        OnFinished();
        return true;
    }

    /// <summary>Wakes the caller that blocks, or has completed what users await, on the thread pool.</summary>
    protected void NotifyWaiters()
    {
        if (Waiter is null)
        {
            QueueWork(CallWork.Complete);
        }
        else if (!IsDone)
        {
            SetDone();
            Waiter.Signal();
            Connection?.WakeReaders();
        }
    }

    /// <summary>
    /// Makes the call as new, for its thread's next call of the same kind. It is finished, plain and all sent.
    /// </summary>
    protected void Reset()
    {
        Debug.Assert(IsPlain && IsFinished, "Nobody else may hold on to the call.");
        _outcome = null;
        _end = null;
        _headers = default;
        _connection = null;
        _renewals = 0;
        ResetForReuse();
    }

    private long LimitOfMetadata => _connection!.OwnLimits.MaxMetadataBytes;

    // Both sides measure one deadline, and the server's word may come first; then it is this side's own end all the
    // same.
    private Status Localize(in Status status) =>
        status.StatusCode == StatusCode.DeadlineExceeded
        && status.Detail == StatusMapping.ServerDeadlineDetail
        && Remaining <= TimeSpan.Zero
            ? StatusMapping.ClientDeadline
            : status;

    // Where the request is still in the hands of the thread that starts the call, only that one could start it again.
    private bool TryNoteRefusal()
    {
        bool isRenewable = Waiter is not null
            || (_origin is not null && !_isStartedAhead && (IsAllSent || _isHandedOver));
        if (!isRenewable || IsFinished || _headers.HasCome || _renewals == MaxRenewals)
        {
            return false;
        }

        _renewals++;
        _isRefused = true;
        if (Waiter is null)
        {
            ThreadPool.UnsafeQueueUserWorkItem(new CallRenewal(this), preferLocal: false);
        }
        else
        {
            SetDone();
        }

        return true;
    }

    private void CheckUnlessFinished(in Status status, bool hasMessage)
    {
        if (!IsFinished)
        {
            CheckEnd(status, hasMessage);
        }
    }

    private void SetEnd(CallEnd end, ReadOnlySpan<byte> message, bool hasMessage)
    {
        _end = end;
        if (!IsFinished)
        {
            OnEnded(message, hasMessage);
        }
    }

    private void FailHeadersIfFinished()
    {
        if (IsOver && _headers.IsAwaited)
        {
            _headers.Fail(ToException());
        }
    }
}
