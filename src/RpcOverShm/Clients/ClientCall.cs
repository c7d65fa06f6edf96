using System.Diagnostics;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;

namespace RpcOverShm.Clients;

/// <summary>
/// One outgoing call, whatever its shape: how it begins, and how it ends exactly once. Everything that can end it (the
/// server's End, a cancel, the deadline, Dispose, a lost connection, an unreadable message) races to settle the
/// outcome. Tasks that users await are completed as work of the call: by the thread that reads the ring, where that may
/// run user code, or on the thread pool; never by the thread that cancels.
/// </summary>
internal abstract partial class ClientCall : ConnectionCall
{
    private static readonly InlineBudget s_budgetOfNone = new();

    private CallOutcome? _outcome;                // how the call has ended for its user; set once
    private volatile CallOutcome? _serverOutcome; // how the server, or the connection, has ended it
    private ResponseHeaders _headers;
    private CallCancellation? _cancellation;
    private Connection? _connection;
    private volatile bool _isAnswered;
    private bool _isStartedAhead;
    private bool _isOutcomeTaken;
    private bool _isCompleted;
    private volatile bool _isDisposed;

    public abstract string MethodName { get; }

    public bool IsFinished => Volatile.Read(ref _outcome) is not null;

    public Status Status => (Volatile.Read(ref _outcome)
        ?? throw new InvalidOperationException("Unable to get the status because the call is not complete.")).Status;

    public Metadata Trailers => (Volatile.Read(ref _outcome)
        ?? throw new InvalidOperationException(
            "Can't get the call trailers because the call has not completed successfully.")).Trailers;

    // A call that is being taken to another connection has none for a moment.
    public override InlineBudget Budget => Connection?.Budget ?? s_budgetOfNone;

    /// <summary>True when its user has disposed the call, whether it had ended before or not.</summary>
    public bool IsDisposed => _isDisposed || ReferenceEquals(Volatile.Read(ref _outcome), CallOutcome.Disposed);

    /// <summary>True once headers or a message came: a method has seen the call.</summary>
    public bool IsAnswered => _isAnswered;

    /// <summary>True when nothing more can be sent: the call has ended, though its user may not know yet.</summary>
    public bool IsOver => IsFinished || _serverOutcome is not null;

    /// <summary>What is left until the deadline; null without one.</summary>
    public TimeSpan? Remaining => _cancellation?.Remaining;

    /// <summary>Fires when the call has ended; none where nothing but its user can end it.</summary>
    public CancellationToken Ended => Volatile.Read(ref _cancellation)?.Ended ?? CancellationToken.None;

    protected abstract ClientSettings Settings { get; }

    /// <summary>The connection, once the call was started on one.</summary>
    public Connection? Connection => Volatile.Read(ref _connection);

    /// <summary>
    /// How the server, or the connection, has ended the call; null before. The user may not have come to it yet.
    /// </summary>
    protected CallOutcome? ServerOutcome => _serverOutcome;

    /// <summary>The outcome of a call that has ended for its user.</summary>
    protected CallOutcome Outcome => Volatile.Read(ref _outcome)!;

    /// <summary>
    /// True for a call that a thread blocks for and nothing else can end: only the holder of the reader role and, once
    /// that has said that the call is done, this thread touch it, so neither has to race.
    /// </summary>
    protected bool IsPrivate => Waiter is not null && _cancellation is null && !_isStartedAhead;

    /// <summary>True when the answer has begun, if only by an end.</summary>
    protected bool HasHeaders => _headers.HasCome;

    /// <summary>True while no deadline, token or task hangs on the call besides what its thread holds.</summary>
    protected bool IsPlain => _cancellation is null && !_headers.IsAwaited;

    /// <summary>The exception of a call that is over, or is about to be over with its connection.</summary>
    public Exception ToException()
    {
        // A write may be refused because the end is being read: the reader is about to say how, or to close for it.
        var spin = default(SpinWait);
        while (true)
        {
            if ((Volatile.Read(ref _outcome) ?? _serverOutcome) is { } end)
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

    /// <summary>
    /// How the call has ended, for whoever has seen its headers complete; null when it was answered before. The reader
    /// may be about to say.
    /// </summary>
    public CallOutcome? WaitForEnd()
    {
        var spin = default(SpinWait);
        while (true)
        {
            if ((Volatile.Read(ref _outcome) ?? _serverOutcome) is { } end)
            {
                return _isAnswered ? null : end;
            }

            if (_isAnswered)
            {
                return null;
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
            var guards = new CallCancellation(this);
            Volatile.Write(ref _cancellation, guards);
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
    public void Dispose()
    {
        _isDisposed = true;
        Finish(CallOutcome.Disposed, isCancel: true);
    }

    /// <summary>A token of the user was cancelled, and with it the call.</summary>
    public void Cancel(CancellationToken by) =>
        Finish(CallOutcome.Local(StatusMapping.ClientCancelled, by), isCancel: true);

    /// <summary>
    /// Ends the call with a status that this side has found, unless it has ended, and tells whoever waits.
    /// </summary>
    /// <param name="status">How.</param>
    /// <param name="isCancel">Whether the server must hear of it, if it knows the call and has not ended it.</param>
    public bool Finish(in Status status, bool isCancel) => !IsFinished && Finish(CallOutcome.Local(status), isCancel);

    /// <summary>The same with an end that says more than a status.</summary>
    public bool Finish(CallOutcome end, bool isCancel)
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
        // The server may know of a call whose request was to follow in parts.
        Finish(status, isCancel: true);
        ShmLog.CallNotStarted(Settings.Logger, MethodName, status.Detail, status.DebugException);
    }

    /// <summary>The deadline has passed.</summary>
    public void OnDeadline()
    {
        ConnectException? failure = Connection is null ? Settings.Connectivity.LastFailure : null;
        if (Finish(StatusMapping.ClientDeadlineWithout(failure), isCancel: true))
        {
            ShmLog.DeadlineExceeded(Settings.Logger, MethodName);
        }
    }

    /// <summary>The call is about to be started while its request is still being serialised, which may fail.</summary>
    public void MarkStartedAhead() => _isStartedAhead = true;

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

    public override void GrantCredit(uint bytes) => _connection!.SendCredit(this, bytes);

    /// <summary>What the end of the call throws.</summary>
    protected Exception ToException(CallOutcome end) => end.ToException(Settings.ThrowsOperationCanceled);

    /// <summary>The outcome is settled; frees what the shape of the call holds.</summary>
    protected virtual void OnFinished() => ForgetSnapshot();

    /// <summary>Settles the outcome, unless it is settled, and frees what the call holds.</summary>
    /// <param name="outcome">How the call has ended.</param>
    /// <param name="isCancel">Whether the server must hear of it.</param>
    protected bool TrySettle(CallOutcome outcome, bool isCancel)
    {
        if (!TrySetOutcome(outcome))
        {
            return false;
        }

        Release(isCancel);
        return true;
    }

    /// <summary>
    /// Settles the outcome, unless it is settled. A call that has settled it calls <see cref="Release"/> next.
    /// </summary>
    protected bool TrySetOutcome(CallOutcome outcome)
    {
        if (!IsPrivate)
        {
            return Interlocked.CompareExchange(ref _outcome, outcome, null) is null; // A full fence: see TryAttach.
        }

        if (IsFinished)
        {
            return false;
        }

        Volatile.Write(ref _outcome, outcome);
        return true;
    }

    /// <summary>Frees what the call holds, now that its outcome is settled.</summary>
    /// <param name="isCancel">Whether the server must hear of it.</param>
    protected void Release(bool isCancel)
    {
        Volatile.Read(ref _cancellation)?.Release();
        if (isCancel || !IsAllSent)
        {
            Connection?.Abandon(this, isCancel);
        }

        if (!Outcome.IsOk)
        {
            MessageTooLargeException.LogIfSo(Settings.Logger, MethodName, "client", Outcome.Status);
        }

        FailHeadersIfFinished();
        OnFinished();
    }

    /// <summary>Wakes the caller that blocks, or has completed what users await, on the thread pool.</summary>
    protected void NotifyWaiters()
    {
        if (Waiter is null)
        {
            QueueUserCode(PendingUserCode.Complete);
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
    protected virtual void Reset()
    {
        Debug.Assert(IsPlain && IsFinished, "Nobody else may hold on to the call.");
        _isEncoded = false;
        _mayBeCompressed = false;
        _transparentRetries = 0;
        _outcome = null;
        _serverOutcome = null;
        _headers = default;
        _connection = null;
        _isAnswered = false;
        ResetForReuse();
    }

    /// <summary>True for whoever comes first to take what the server has ended the call with.</summary>
    protected bool TryTakeServerOutcome() => !Interlocked.Exchange(ref _isOutcomeTaken, true);

    /// <summary>True for whoever comes first to complete what the user awaits.</summary>
    protected bool TryComplete() => !Interlocked.Exchange(ref _isCompleted, true);

    /// <summary>The response's metadata has come, or the answer without any.</summary>
    protected void SetHeaders(Metadata headers) => _headers.Set(headers, IsPrivate);

    /// <summary>Fails the task of whoever has asked for the metadata of a call that has ended without.</summary>
    protected void FailHeadersIfFinished()
    {
        if (IsOver && _headers.IsAwaited)
        {
            _headers.Fail(ToException());
        }
    }
}
