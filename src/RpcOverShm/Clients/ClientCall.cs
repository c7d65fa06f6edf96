using System.Diagnostics;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Clients;

/// <summary>
/// One outgoing call of any shape, from its start to its single end. Everything that can end it (the server's End, a
/// cancel, the deadline, Dispose, a lost connection, an unreadable message) races to settle the outcome. Tasks that
/// users await complete as pending user code of the call: on the reading thread if it may run user code, otherwise on
/// the thread pool, and never on the thread that cancels.
/// </summary>
internal abstract partial class ClientCall : ConnectionCall, IPresentedCall, INestedCall
{
    private static readonly InlineBudget s_noConnectionBudget = new();

    private CallOutcome? _outcome;                // the end that the user sees; set once
    private volatile CallOutcome? _serverOutcome; // how the server or the connection ended the call
    private CallCancellation? _cancellation;
    private Connection? _connection;
    private volatile bool _hasResponse;
    private bool _isStartedAhead;
    private bool _isCompleted;
    private volatile bool _isDisposed;

    public abstract string MethodName { get; }

    /// <summary>
    /// The running call whose method makes this one; null if there is none. Set when the head is encoded. If the parent
    /// may yield its instance, it is set before, because encoding may be delayed.
    /// </summary>
    public RunningCall? Parent { get; set; }

    /// <summary>The parent, if it yields its instance while it waits for this call; null for none.</summary>
    public RunningCall? YieldingParent =>
        Settings.YieldsInstance && Parent is { InstanceTicket: not null } parent ? parent : null;

    public override int Depth => Parent is { } parent ? parent.Depth + 1 : 0;

    /// <summary>The handles that go with the call; null for most calls. Set before the call is started.</summary>
    public CarriedHandles? Handles { get; set; }

    /// <summary>Called when all requests were sent. Completes when the user may go on.</summary>
    public virtual Task OnHalfClosedAsync() => Task.CompletedTask;

    public bool IsFinished => Volatile.Read(ref _outcome) is not null;

    public Status Status => (Volatile.Read(ref _outcome)
        ?? throw new InvalidOperationException("Unable to get the status because the call is not complete.")).Status;

    public Metadata Trailers => (Volatile.Read(ref _outcome)
        ?? throw new InvalidOperationException(
            "Can't get the call trailers because the call has not completed successfully.")).Trailers;

    // During a transparent retry, the call briefly has no connection.
    public override InlineBudget InlineBudget => Connection?.InlineBudget ?? s_noConnectionBudget;

    /// <summary>Whether the user has disposed the call, before or after its end.</summary>
    public bool IsDisposed => _isDisposed || ReferenceEquals(Volatile.Read(ref _outcome), CallOutcome.Disposed);

    /// <summary>Whether headers or a message have arrived, which proves that a method has seen the call.</summary>
    public bool HasResponse => _hasResponse;

    /// <summary>Whether the call has ended and sends nothing more, even if its user has not seen the end yet.</summary>
    public bool HasEnd => IsFinished || _serverOutcome is not null;

    public override bool IsGivenUp => Volatile.Read(ref _outcome) is { IsGivenUp: true };

    public override TimeSpan? Remaining => _cancellation?.Remaining;

    /// <summary>Cancelled when the call has ended; none if <see cref="TryArm"/> had nothing to arm.</summary>
    public CancellationToken Ended => Volatile.Read(ref _cancellation)?.Ended ?? CancellationToken.None;

    protected abstract ClientSettings Settings { get; }

    /// <summary>The side whose options limit the messages of the call.</summary>
    public string Side => Settings.Side;

    /// <summary>The connection that the call was started on; null before.</summary>
    public Connection? Connection => Volatile.Read(ref _connection);

    /// <summary>The end by the server or the connection, or null; the user may not have seen it yet.</summary>
    protected CallOutcome? ServerOutcome => _serverOutcome;

    /// <summary>The outcome of a call that has ended for its user.</summary>
    protected CallOutcome Outcome => Volatile.Read(ref _outcome)!;

    /// <summary>
    /// Whether this is a blocking call that, once it is sent, only the server, the connection or an interrupt of its
    /// thread can end: no token, no deadline and no Dispose. Until its wait is over, only the holder of the reader role
    /// handles its frames; afterwards only the blocked thread uses it. So taking the server's End needs no interlocked
    /// operations. At a close, the thread that ends the connection still uses the call after its wait; such a call has
    /// failed, so its object is not used again. After an interrupt both may use the call: a response that is stored
    /// after the cancel is left to the garbage collector.
    /// </summary>
    protected bool IsUncancellable => Latch is not null && _cancellation is null && !_isStartedAhead && !IsOneWay;

    /// <summary>Whether the response has begun, even if only with an End.</summary>
    protected bool HasHeaders => Volatile.Read(ref _headers) is Metadata;

    /// <summary>Whether no deadline, token or headers task refers to the call.</summary>
    protected bool IsUnreferenced => _cancellation is null && _headers is not TaskCompletionSource<Metadata>;

    /// <summary>Returns the exception of a call that is over, or is about to end with its connection.</summary>
    public Exception ToException()
    {
        // A write may be refused while the reading thread is still about to store the end or to close the link.
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

            Thread.Yield();
        }
    }

    /// <summary>
    /// Returns the outcome of a call that ended without a response; null if the response has begun. Spins until one of
    /// the two is known. That is soon: the caller has seen the task of the headers or of the response complete.
    /// </summary>
    public CallOutcome? SpinUntilOutcome()
    {
        while (true)
        {
            if ((Volatile.Read(ref _outcome) ?? _serverOutcome) is { } end)
            {
                return _hasResponse ? null : end;
            }

            if (_hasResponse)
            {
                return null;
            }

            Thread.Yield();
        }
    }

    /// <summary>Arms the deadline and the token. Returns false if the call has ended and must not be started.</summary>
    /// <param name="options">The options of the call.</param>
    /// <param name="limit">The time limit of the method's calls; null for none.</param>
    /// <param name="mayStartSlowly">Whether the call may take long to start, and so needs <see cref="Ended"/>.</param>
    /// <exception cref="InvalidOperationException">The deadline is not UTC.</exception>
    public bool TryArm(in CallOptions options, CallTimeout? limit = null, bool mayStartSlowly = false)
    {
        TimeSpan? timeout =
            options.Deadline is null && limit is null ? null : CallCancellation.TimeoutOf(options, limit);
        CancellationToken cancellationToken = options.CancellationToken;
        if (timeout <= TimeSpan.Zero)
        {
            Finish(StatusMapping.ClientDeadline, isCancel: false);
        }
        else if (cancellationToken.IsCancellationRequested)
        {
            Finish(CallOutcome.Local(StatusMapping.ClientCancelled, cancellationToken), isCancel: false);
        }
        else if (timeout is not null || cancellationToken.CanBeCanceled || options.IsWaitForReady || mayStartSlowly)
        {
            var cancellation = new CallCancellation(this);
            Volatile.Write(ref _cancellation, cancellation);
            cancellation.Arm(timeout, cancellationToken);
            Interlocked.MemoryBarrier(); // StoreLoad: who ends the call sees what is armed, or this thread its end
            if (IsFinished)
            {
                // The thread that ended the call meanwhile may have released the deadline and the token before they
                // were armed.
                cancellation.Release();
            }
        }

        return !IsFinished;
    }

    /// <summary>Cancels the call if it has not ended. Called by its user.</summary>
    public void Dispose()
    {
        _isDisposed = true;
        Finish(CallOutcome.Disposed, isCancel: true);
        EndObservation();
    }

    /// <summary>Ends the call because a token of the user was cancelled.</summary>
    public void Cancel(CancellationToken by) => Finish(
        CallOutcome.Local(StatusMapping.ClientCancelledAfter(LastConnectFailure()), by), isCancel: true);

    /// <summary>Ends the call with a status of this side, unless it has ended, and notifies its waiters.</summary>
    /// <param name="status">The status.</param>
    /// <param name="isCancel">Whether to send a cancel if the server knows the call and has not ended it.</param>
    public bool Finish(in Status status, bool isCancel) => !IsFinished && Finish(CallOutcome.Local(status), isCancel);

    /// <summary>Ends the call with an outcome, unless it has ended, and notifies its waiters.</summary>
    public bool Finish(CallOutcome end, bool isCancel)
    {
        SettleIfSent();
        if (IsFinished || !TrySettle(end, isCancel))
        {
            return false;
        }

        NotifyWaiters();
        return true;
    }

    /// <summary>Ends a call whose request could not be sent, and logs that, unless the call has ended.</summary>
    public void FinishUnsent(in Status status)
    {
        // Send a cancel: the server may already know the call if its request is sent in parts.
        if (Finish(status, isCancel: true))
        {
            ShmLog.CallNotStarted(Settings.Logger, MethodName, status.Detail, status.DebugException);
        }
    }

    public override void OnDeadline()
    {
        if (Finish(DeadlineStatus(), isCancel: true))
        {
            // The thread may hold the reader role.
            DeferredLog.Write(Settings.Logger, log => ShmLog.DeadlineExceeded(log, MethodName));
        }
    }

    /// <summary>
    /// Returns the status of a call whose deadline has passed. As in grpc-dotnet, the detail is empty for a call that
    /// was running. For a call that was waiting, the detail says for what.
    /// </summary>
    protected Status DeadlineStatus()
    {
        if (Connection is not { } connection || IsBetweenConnections)
        {
            return StatusMapping.ClientDeadlineAfter(LastConnectFailure());
        }

        bool isCallback = connection.IsAccepted;
        string peer = $"the {(isCallback ? "client" : "server")}, process {connection.Peer.ProcessId},";
        uint running = connection.PeerLimits.MaxRunning; // 0 if the peer has not announced it

        // IsEndedByPeer is read last: an End at the same deadline sets it before the call is removed from
        // OutgoingTwoWayCount.
        int living = connection.OutgoingTwoWayCount + (IsEndedByPeer ? 1 : 0);
        return running > 0 && living > running && !_hasResponse && !IsOneWay
            ? StatusMapping.ClientDeadlineInQueue(peer, running, living)
            : StatusMapping.ClientDeadlineAt(peer, IsOneWay, isCallback);
    }

    // Null for a call that has a connection: its deadline was not caused by a failure to connect.
    private Exception? LastConnectFailure() =>
        Connection is null || IsBetweenConnections ? Settings.Connections?.LastFailure?.ToPublicException() : null;

    /// <summary>Marks that the call starts before its request is serialised; the serialiser may still fail.</summary>
    public void MarkStartedAhead() => _isStartedAhead = true;

    /// <summary>
    /// Stores the connection before the call starts on it. Returns false if the call has ended and must not be started.
    /// A thread that ends the call later finds the connection and abandons the call there.
    /// </summary>
    public bool TryAttach(Connection connection)
    {
        if (IsUncancellable)
        {
            Volatile.Write(ref _connection, connection);
        }
        else
        {
            // A full fence (StoreLoad): a thread that ends the call stores the outcome and then reads the connection;
            // this thread stores the connection and then reads the outcome.
            Interlocked.Exchange(ref _connection, connection);
        }

        return !IsFinished;
    }

    public override void GrantCredit(uint bytes) => _connection!.Sender.SendCredit(this, bytes);

    public override void StartDeadlineTimer() => _cancellation?.StartDeadlineTimer();

    /// <summary>Returns the exception of this end, under the channel's settings.</summary>
    protected Exception ToException(CallOutcome end) => end.ToException(Settings.ThrowsOperationCanceled);

    /// <summary>Frees what the derived class holds, once the outcome is settled.</summary>
    protected virtual void OnFinished() => DropSnapshot();

    /// <summary>Settles the outcome and frees what the call holds. Returns false if it was settled before.</summary>
    /// <param name="outcome">The outcome.</param>
    /// <param name="isCancel">Whether to send a cancel if the server knows the call and has not ended it.</param>
    /// <param name="isAlone">Whether no other thread can settle the outcome meanwhile.</param>
    protected bool TrySettle(CallOutcome outcome, bool isCancel, bool isAlone = false)
    {
        if (!TrySetOutcome(outcome, isAlone))
        {
            return false;
        }

        Release(isCancel);
        return true;
    }

    /// <summary>
    /// Settles the outcome; returns false if it was settled before. After true the caller must call
    /// <see cref="Release"/>. If <paramref name="isAlone"/> is true, no other thread can settle the outcome meanwhile.
    /// </summary>
    protected bool TrySetOutcome(CallOutcome outcome, bool isAlone = false)
    {
        if (!isAlone)
        {
            return Interlocked.CompareExchange(ref _outcome, outcome, null) is null; // A full fence; see TryAttach.
        }

        if (IsFinished)
        {
            return false;
        }

        Volatile.Write(ref _outcome, outcome);
        return true;
    }

    /// <summary>Frees what the call holds, once its outcome is settled.</summary>
    /// <param name="isCancel">Whether to send a cancel if the server knows the call and has not ended it.</param>
    protected void Release(bool isCancel)
    {
        ReleaseCancellation();
        PartialHead?.Discard(); // The server may never send the rest.
        if (isCancel || !IsRequestKnownComplete)
        {
            Connection?.Sender.Abandon(this, isCancel);
        }

        if (!Outcome.IsOk)
        {
            MessageTooLargeException.LogIfSo(Settings.Logger, MethodName, Settings.Side, Outcome.Status);
        }

        FailHeadersIfFinished();
        OnFinished();
    }

    /// <summary>Wakes the blocking caller, or has the thread pool complete the tasks that users await.</summary>
    protected void NotifyWaiters()
    {
        // Read once: the thread of a one-way call that was sent clears it.
        if (Latch is not { } latch)
        {
            QueueUserCode(PendingUserCode.Complete);
        }
        else if (!IsWaitOver)
        {
            EndWait();
            latch.Signal();
            Connection?.WakeSleepingReaders();
        }
    }

    /// <summary>Resets a finished, unreferenced call without unsent frames for the next blocking call.</summary>
    protected void Reset()
    {
        Debug.Assert(IsUnreferenced && IsFinished, "No other object may refer to the call.");
        _mark = MessageMark.None;
        _retries = 0;
        _outcome = null;
        _serverOutcome = null;
        _serverEnd = ServerEndState.None;
        _headers = null;
        _connection = null;
        Parent = null;
        Inspection = null;
        _hasResponse = false;
        ResetForReuse();
    }

    /// <summary>Returns true to the first caller, which must complete the task of the user.</summary>
    protected bool TryComplete() => !Interlocked.Exchange(ref _isCompleted, true);
}
