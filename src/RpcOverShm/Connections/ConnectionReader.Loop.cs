using System.Diagnostics;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <content>
/// A connection as its event loop sees it. The loop reads while no caller reads for itself, runs user code inline if
/// the scheduling mode allows, sends what had to wait for space, and ends the reading side when the link closes.
/// </content>
internal sealed partial class ConnectionReader
{
    // Messages of a stream before its reader is woken: enough to share that cost, few enough for the L1 cache.
    private const int MostRecordsPerWake = 16;

    // The bounds of one run, so that no connection starves the others of its loop. The clock is read after so many
    // records, and after each run of user code but the first.
    private const int MostRecordsPerRun = 256;
    private const int RecordsPerCheck = 16;
    private const long MostMicroseconds = 200;

    // The limit of threads stuck in this connection's user code, which has lost the loop. At the limit, its user code
    // runs on the thread pool; at the loop's own limit, that of all its connections does.
    private const int MostStuckThreads = 2;
    private const int MostStuckThreadsInline = 8;

    // Shorter user code runs faster here than on the thread pool, even if a processor is idle.
    private const long WorthAThreadNanoseconds = 10_000;

    // The longest that an answer may wait for more answers before it is published.
    private const long MostDeferredNanoseconds = 20_000;

    // What a record without user code counts: sixteen of them make an answer wait for the longest time.
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
            // A caller that reads, or is about to, receives all that comes.
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
            // Not all was read yet; after that the link closes.
            Request();
        }

        return true;
    }

    public override bool TryPark()
    {
        // The end of the link or of the peer is told once, and a run that gives way to a caller cannot act on it. So
        // the connection stays active. The loop spins until the caller is gone, but not for long: one that reads, or is
        // woken to read, finds the same end and closes the link, or leaves.
        if (_link.IsClosed || _link.IsPeerGone)
        {
            Request();
            return false;
        }

        if (HasBlockedCallers || !_role.TryTake())
        {
            // A thread that arms for this loop holds the role for a moment. If the doorbell has rung in that moment, it
            // does not ring again, so data must keep the connection active until somebody has read it.
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

        // A doorbell for space that came after the run was read just now: the peer does not ring twice. Data needs no
        // such care: the loop looks for it again before it parks the connection.
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
    /// Runs the pending user code of a call, of so many messages, or queues it to the thread pool. Used by the loop's
    /// thread, without the reader role. Returns false if the loop was lost meanwhile.
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
    /// Publishes deferred answers that have waited for many records whose user code does not run here, such as the
    /// parts of a large message, credit, or requests for the thread pool.
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
    /// Ends the connection. With thousands of open calls that takes a while, so it counts as user code, from which the
    /// loop can be taken over. Returns false if it was. When too many threads have lost the loop, it keeps the loop: a
    /// client could end many connections at once. It does not go to the thread pool, where it would wait behind the
    /// calls that it ends.
    /// </summary>
    private bool EndOnLoop(LoopThread me)
    {
        // First, so that another thread that runs the loop does not look at memory that is being unmapped.
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
    /// Receives records, with the role held, until user code is due, none is left, or there were many. Returns whether
    /// there is nothing more to receive now.
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
                // The next record is for another call after all: the peer has changed it since it was checked.
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

    // Messages of one stream that came together cause a single wake-up, if no record of another call lies between them.
    // Such a record must not be received first: the woken code may block this thread before the other call is served.
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
            // Tasks store their exceptions. This one comes from a user's synchronization context or task scheduler.
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
    /// Publishes deferred answers before user code of this typical duration would keep them for too long. A clock would
    /// cost more than such a run; the watchdog bounds a run that takes much longer than its kind does.
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
