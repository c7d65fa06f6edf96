using System.Diagnostics;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <content>
/// The connection as a source of its event loop. The loop reads while no blocked caller reads, runs user code inline if
/// the scheduling mode allows it, sends frames that waited for space, and ends the connection when the link is closed.
/// </content>
internal sealed partial class ConnectionReader
{
    // Messages of a stream before its reader is woken: enough to share that cost, few enough for the L1 cache.
    private const int MostRecordsPerWake = 16;

    // The bounds of one run, so that no connection starves the others of its loop. The clock is read after every 16
    // records and after each run of user code; the first reading starts the time.
    private const int MostRecordsPerRun = 256;
    private const int RecordsPerCheck = 16;
    private const long MostMicroseconds = 200;

    // The maximum number of threads that have lost the loop while they run user code of this connection. At the
    // maximum, further user code runs on the thread pool. The loop has a maximum of its own for all connections.
    private const int MostStuckThreads = 2;
    private const int MostStuckThreadsInline = 8;

    // User code below this duration is faster inline than on the thread pool, even if a processor is idle.
    private const long WorthAThreadNanoseconds = 10_000;

    // The maximum time for which the publish of a response is deferred.
    private const long MostDeferredNanoseconds = 20_000;

    // The time that a record without user code adds to that: 16 such records use it up, and the next one publishes.
    private const long NanosecondsPerRecord = MostDeferredNanoseconds / 16;

    private static readonly long s_mostTicks = Stopwatch.Frequency * MostMicroseconds / 1_000_000;

    public override bool HasWork =>
        (_ring.HasData && !HasBlockedCallers && _role.IsFree) || _sender.HasSpaceForWaiting;

    public override bool IsUnattended =>
        _role.IsFree
        && !HasBlockedCallers
        && _ring.ArmedFor == Doorbell.None
        && (IsExpecting || _ring.HasData);

    private bool MustStop => HasBlockedCallers || _link.IsClosed;

    /// <summary>Whether other records or other connections wait for the loop's thread.</summary>
    private bool IsAnyWaiting => _ring.HasData || Loop!.HasOtherWork;

    /// <summary>
    /// Ends a connection that no loop serves. Called by the thread that starts it, after the link closed.
    /// </summary>
    public void EndWithoutLoop()
    {
        // The link is closed, so a caller that already reads gives the role up soon.
        while (!_role.TryTake())
        {
            Thread.Yield();
        }

        End();
    }

    public override bool Run(LoopThread me)
    {
        if (_link.IsClosed)
        {
            return !_role.TryTake() || EndOnLoop(me);
        }

        _sender.SendWaiting();
        long begun = 0;
        for (int records = 0; records < MostRecordsPerRun;)
        {
            // A blocked caller reads, or is about to read, so the loop leaves the ring to it.
            if (HasBlockedCallers || !_role.TryTake())
            {
                SignalCallersIfFree();
                break;
            }

            bool isOver = Receive(ref records, ref begun, out ConnectionCall? due, out int messages);
            _role.Release();

            // StoreLoad: the role was released before this check for callers that came meanwhile.
            SignalCallersIfFree();
            if (due is not null)
            {
                if (!RunOrQueue(me, due, messages))
                {
                    return false;
                }

                isOver = !_ring.HasData ? !_link.IsPeerGone : IsTimeUp(ref begun);
            }

            if (isOver)
            {
                break;
            }
        }

        _sender.FlushDeferred();
        if (_link.IsPeerGone && !_link.IsClosed && _role.IsFree && !HasBlockedCallers)
        {
            // The peer is gone but records are left. The next run reads them; after the last one the link closes.
            Request();
        }

        return true;
    }

    public override bool TryPark()
    {
        // The socket reports the close of the link or the end of the peer once. A run that yields to a blocked caller
        // cannot handle that report, so the connection stays active. The loop spins only briefly: the caller reads,
        // finds the link closed or the peer gone, and releases the role.
        if (_link.IsClosed || _link.IsPeerGone)
        {
            Request();
            return false;
        }

        if (HasBlockedCallers || !_role.TryTake())
        {
            // Another thread may hold the role to arm the ring for this loop. If the peer has already sent its
            // doorbell, it sends no second one. So the connection must stay active while the ring has data.
            return !_ring.HasData;
        }

        bool isArmed = Arm(Doorbell.Socket);
        _role.Release();
        SignalCallersIfFree();
        return isArmed;
    }

    public override void OnSocket() => Request();

    public override void DrainSocket(bool hasEnded)
    {
        _link.DrainSocket(hasEnded);

        // The drained bytes may contain a doorbell for space that arrived after the run; the peer sends no second one.
        // Data needs no request: the loop checks for it before it parks the connection.
        if (_sender.IsWaitingForSpace)
        {
            Request();
        }
    }

    public override void OnTakingOver()
    {
        if (_running is { } budget)
        {
            Interlocked.Increment(ref _stuck);
            Interlocked.Increment(ref _takeOvers);
            budget.RecordTakeOver();
        }
    }

    public override void OnTakenOver()
    {
        _sender.FlushDeferred();
        Request();
    }

    /// <summary>Returns whether user code of this kind runs inline. Used by the loop's thread.</summary>
    public bool IsInline(InlineBudget budget) => _mode switch
    {
        SchedulingMode.Inline => Volatile.Read(ref _stuck) < MostStuckThreadsInline && !Loop!.IsFullOfStuck,
        SchedulingMode.Adaptive => Volatile.Read(ref _stuck) < MostStuckThreads
            && !Loop!.IsFullOfStuck
            && !(_hasProcessors && budget.TypicalNanoseconds >= WorthAThreadNanoseconds && IsAnyWaiting)
            && budget.IsInline,
        _ => false,
    };

    /// <summary>
    /// Runs the pending user code of a call inline, or queues it to the thread pool. <paramref name="messages"/> is the
    /// number of messages that the code handles. Called by the thread of the loop, without the reader role. Returns
    /// false if the loop was lost meanwhile.
    /// </summary>
    public bool RunOrQueue(LoopThread me, ConnectionCall call, int messages)
    {
        if (!call.RunsOnBlockedThread && IsInline(call.Budget))
        {
            return RunInline(me, call, messages);
        }

        call.QueueUserCode();
        OnRecordWithoutCode();
        return true;
    }

    /// <summary>
    /// Publishes deferred responses after more than 16 records without inline user code. Such records are parts of a
    /// large message, credit, and requests whose method runs on the thread pool.
    /// </summary>
    public void OnRecordWithoutCode()
    {
        if (_sender.HasDeferred && (_deferredNanoseconds += NanosecondsPerRecord) > MostDeferredNanoseconds)
        {
            _sender.FlushDeferred();
            _deferredNanoseconds = 0;
        }
    }

    protected override void OnLostDoorbell() => _link.OnSafetyTimeout(isLostWakeup: true);

    protected override long? FindUnrung()
    {
        // Positions are even, so space is told from data by an odd number.
        if (_sender.HasSpaceForWaiting)
        {
            return _link.Writer.HeadHint + 1;
        }

        if (!_ring.HasData || !_role.TryTake())
        {
            return null;
        }

        bool isUnrung = !_link.IsClosed && (_ring.ArmedFor & Doorbell.Socket) != 0 && _ring.HasData;
        long at = _ring.Position;
        _role.Release();
        FindReader();
        return isUnrung ? at : null;
    }

    /// <summary>
    /// Ends the connection. With thousands of open calls this takes long, so it counts as user code: another thread may
    /// take the loop over. Returns false if one has. If too many threads have lost the loop, this thread keeps it,
    /// because a client could close many connections at once. The work is not queued to the thread pool: there it would
    /// wait behind the calls that it ends.
    /// </summary>
    private bool EndOnLoop(LoopThread me)
    {
        // The source is removed first: another thread that takes the loop over must not read memory that is being
        // unmapped.
        EventLoop loop = Loop!;
        loop.Remove(this);
        if (loop.IsFullOfStuck)
        {
            End();
            return true;
        }

        _running = null;
        me.MayDefer = false;
        loop.BeginUserCode(me);
        End();
        return loop.EndUserCode(me);
    }

    // The time of a run counts from the first check, after the first user code or some records.
    private static bool IsTimeUp(ref long begun)
    {
        long now = Stopwatch.GetTimestamp();
        if (begun == 0)
        {
            begun = now;
        }

        return now - begun >= s_mostTicks;
    }

    private void End()
    {
        _role.Retire();
        _onClosed();
        _link.Leave();
    }

    /// <summary>
    /// Receives records, with the role held, until user code is pending, the ring is empty or the run must end. Returns
    /// whether the run is over: the ring is empty, a caller blocks, the link is closed, or the bound of records or time
    /// is reached. Returns false if user code is pending: <paramref name="due"/> is its call.
    /// </summary>
    private bool Receive(ref int records, ref long begun, out ConnectionCall? due, out int messages)
    {
        _ring.Disarm();
        bool isPeerGone = _link.SealIfPeerGone();
        due = null;
        messages = 0;
        bool hasReceived = false;
        while (TryReceive(out ConnectionCall? call))
        {
            hasReceived = true;
            records++;
            if (due is not null && due != call)
            {
                // The peer has changed the record since IsMoreOfStream checked it: it belongs to another call.
                due.QueueUserCode();
                due = null;
                messages = 0;
            }

            if (call is { HasUserCode: true })
            {
                due = call;
                if (++messages < MostRecordsPerWake && !MustStop && IsMoreOfStream(call))
                {
                    continue;
                }

                messages = TakeMessages(call);
                return false;
            }

            OnRecordWithoutCode();
            if (call is { IsDone: true })
            {
                call.Waiter?.Signal();
            }

            if (MustStop
                || records >= MostRecordsPerRun
                || (records % RecordsPerCheck == 0 && IsTimeUp(ref begun)))
            {
                return true;
            }
        }

        if (due is not null)
        {
            messages = TakeMessages(due);
            return false;
        }

        if (!hasReceived)
        {
            _sender.FlushDeferred();
            CloseIfPeerGone(isPeerGone);
        }

        return !hasReceived || (!isPeerGone && !_ring.HasData);
    }

    // Consecutive messages of one stream cause a single wake-up. A record of another call ends the batch: the woken
    // code may block this thread, and that record would then already be taken.
    private bool IsMoreOfStream(ConnectionCall call) => call.HasOnlyReaderToWake && _ring.IsNextOf(call.Id.Value);

    private static int TakeMessages(ConnectionCall call)
    {
        int messages = Math.Max(call.MessagesDue, 1);
        call.MessagesDue = 0;
        return messages;
    }

    /// <summary>Runs a call's pending user code inline, without locks. Returns false if the loop was lost.</summary>
    private bool RunInline(LoopThread me, ConnectionCall call, int messages)
    {
        InlineBudget budget = call.Budget;
        PublishIfDueBefore(budget.TypicalNanoseconds * messages, me);
        _running = budget;
        me.Role = _role;
        me.Loop.BeginUserCode(me);
        long begun = budget.Begin(me.Run);
        try
        {
            call.RunUserCode();
        }
        catch (Exception exception)
        {
            // Tasks store their exceptions, so only a synchronization context or task scheduler of the user can throw
            // here.
            _link.LogUserCodeFailed(exception);
        }

        AmbientContext.RestoreClean(me.Traits);
        if (!me.Loop.EndUserCode(me))
        {
            Interlocked.Decrement(ref _stuck);
            return false;
        }

        // More records of the same call wait only for that call's own code, so they do not count as waiting.
        budget.End(begun, messages, IsAnyWaiting && !_ring.IsNextOf(call.Id.Value));
        return true;
    }

    /// <summary>
    /// Publishes deferred responses if user code of this typical duration would defer them beyond the limit. Reading
    /// the clock would cost more than such code. The watchdog handles code that takes much longer than is typical.
    /// </summary>
    private void PublishIfDueBefore(long nanoseconds, LoopThread me)
    {
        _deferredNanoseconds = _sender.HasDeferred ? _deferredNanoseconds + nanoseconds : nanoseconds;
        me.MayDefer = nanoseconds <= MostDeferredNanoseconds;
        if (_deferredNanoseconds > MostDeferredNanoseconds)
        {
            _sender.FlushDeferred();
            _deferredNanoseconds = nanoseconds;
        }
    }
}
