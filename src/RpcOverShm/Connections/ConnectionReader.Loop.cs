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
    private const int MaxMessagesPerWake = 16;

    // The bounds of one run, so that no connection starves the others of its loop. The clock is read after every 16
    // records and after each run of user code; the first reading starts the time.
    private const int MaxRecordsPerRun = 256;
    private const int RecordsPerCheck = 16;
    private const long MaxRunMicroseconds = 200;

    // The maximum number of threads that have lost the loop while they run user code of this connection. At the
    // maximum, further user code runs on the thread pool. The loop has a maximum of its own for all connections.
    private const int MaxStuckThreads = 2;
    private const int MaxStuckThreadsInline = 8;

    // User code below this duration is faster inline than on the thread pool, even if a processor is idle.
    private const long MinPoolWorkNanoseconds = 10_000;

    // The maximum time for which the publish of a response is deferred.
    private const long MaxDeferredNanoseconds = 20_000;

    // The time that a record without user code adds to that: 16 such records use it up, and the next one publishes.
    private const long NanosecondsPerRecord = MaxDeferredNanoseconds / 16;

    private static readonly long s_maxRunTicks = Stopwatch.Frequency * MaxRunMicroseconds / 1_000_000;

    public override bool HasWork =>
        (_ring.HasData && !HasBlockedCallers && _role.IsFree)
        || _sender.CanSendQueued
        || _topics is { HasReady: true };

    public override bool NeedsReader =>
        _role.IsFree
        && !HasBlockedCallers
        && _ring.ArmedFor == WakeMethods.None
        && (ExpectsFrames || _ring.HasData);

    private bool MustStop => HasBlockedCallers || _link.IsClosed;

    /// <summary>Whether other records or other connections wait for the loop's thread.</summary>
    private bool HasOtherWork => _ring.HasData || Loop!.HasOtherWork;

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

        _sender.SendQueued();
        if (_topics is not null && !RunTopics(me, _topics))
        {
            return false;
        }

        long begun = 0;
        for (int records = 0; records < MaxRecordsPerRun;)
        {
            // A blocked caller reads, or is about to read, so the loop leaves the ring to it.
            if (HasBlockedCallers || !_role.TryTake())
            {
                SignalCallersIfFree();
                break;
            }

            bool isOver = ReceiveUntilUserCode(ref records, ref begun, out ConnectionCall? runnable, out int messages);
            _role.Release();

            // StoreLoad: the role was released before this check for callers that came meanwhile.
            SignalCallersIfFree();
            if (runnable is not null)
            {
                if (!RunOrQueue(me, runnable, messages))
                {
                    return false;
                }

                // Without data the run is over, unless the peer is gone: one more round then closes the link.
                isOver = _ring.HasData ? IsTimeUp(ref begun) : !_link.IsPeerGone;
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
            return !_ring.HasData && _topics?.TryPark() != false;
        }

        try
        {
            return Arm(WakeMethods.Doorbell) && _topics?.TryPark() != false;
        }
        finally
        {
            _role.Release();
            SignalCallersIfFree();
        }
    }

    public override void OnSocket() => Request();

    public override void DrainSocket(bool hasEnded)
    {
        _link.DrainSocket(hasEnded);

        // The drained bytes may contain a doorbell for space that arrived after the run; the peer sends no second one.
        // Data needs no request: the loop checks for it before it parks the connection.
        if (_sender.HasQueuedForLoop)
        {
            Request();
        }
    }

    public override void OnTakeOverStarting()
    {
        if (_running is { } budget)
        {
            Interlocked.Increment(ref _stuck);
            Interlocked.Increment(ref _takeOvers);
            budget.RecordTakeOver();
        }
    }

    public override void OnLoopLost()
    {
        _sender.FlushDeferred();
        Request();
    }

    /// <summary>Returns whether the next run of this kind should be inline, and counts it. Loop's thread.</summary>
    public bool ShouldRunInline(InlineBudget budget) => _mode switch
    {
        SchedulingMode.Inline => Volatile.Read(ref _stuck) < MaxStuckThreadsInline && !Loop!.IsFullOfStuck,
        SchedulingMode.Adaptive => Volatile.Read(ref _stuck) < MaxStuckThreads
            && !Loop!.IsFullOfStuck
            && !(_hasSpareProcessor && budget.TypicalNanoseconds >= MinPoolWorkNanoseconds && HasOtherWork)
            && budget.ShouldRunInline(),
        _ => false,
    };

    /// <summary>
    /// Runs the pending user code of a call inline, or queues it to the thread pool. <paramref name="messages"/> is the
    /// number of messages that the code handles. Called by the thread of the loop, without the reader role. Returns
    /// false if the loop was lost meanwhile.
    /// </summary>
    public bool RunOrQueue(LoopThread me, ConnectionCall call, int messages)
    {
        if (!call.RunsOnBlockedThread && ShouldRunInline(call.InlineBudget))
        {
            return RunInline(me, call, messages);
        }

        call.QueueUserCode();
        FlushDeferredIfOld();
        return true;
    }

    /// <summary>
    /// Publishes deferred responses after more than 16 records without inline user code. Such records are parts of a
    /// large message, credit, and requests whose method runs on the thread pool.
    /// </summary>
    public void FlushDeferredIfOld()
    {
        if (_sender.HasDeferred && (_deferredNanoseconds += NanosecondsPerRecord) > MaxDeferredNanoseconds)
        {
            _sender.FlushDeferred();
            _deferredNanoseconds = 0;
        }
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

        return now - begun >= s_maxRunTicks;
    }

    /// <summary>
    /// Receives records, with the role held, until user code is pending, the ring is empty or the run must end. Returns
    /// whether the run is over: the ring is empty, a caller blocks, the link is closed, or the bound of records or time
    /// is reached. Returns false if user code is pending: <paramref name="runnable"/> is its call.
    /// </summary>
    private bool ReceiveUntilUserCode(ref int records, ref long begun, out ConnectionCall? runnable, out int messages)
    {
        _ring.Disarm();
        bool isPeerGone = _link.SealIfPeerGone();
        runnable = null;
        messages = 0;
        bool hasReceived = false;
        while (TryReceive(out ConnectionCall? call))
        {
            hasReceived = true;
            records++;
            if (runnable is not null && runnable != call)
            {
                // The peer has changed the record since IsMoreOfStream checked it: it belongs to another call.
                runnable.QueueUserCode();
                runnable = null;
                messages = 0;
            }

            if (call is { HasUnqueuedUserCode: true })
            {
                runnable = call;
                if (++messages < MaxMessagesPerWake && !MustStop && IsMoreOfStream(call))
                {
                    continue;
                }

                messages = TakeMessageCount(call);
                return false;
            }

            FlushDeferredIfOld();
            if (call is { IsWaitOver: true })
            {
                call.Latch?.Signal();
            }

            if (MustStop
                || records >= MaxRecordsPerRun
                || (records % RecordsPerCheck == 0 && IsTimeUp(ref begun)))
            {
                return true;
            }
        }

        if (runnable is not null)
        {
            messages = TakeMessageCount(runnable);
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

    private static int TakeMessageCount(ConnectionCall call)
    {
        int messages = Math.Max(call.MessagesDue, 1);
        call.MessagesDue = 0;
        return messages;
    }

    /// <summary>Runs a call's pending user code inline, without locks. Returns false if the loop was lost.</summary>
    private bool RunInline(LoopThread me, ConnectionCall call, int messages)
    {
        InlineBudget budget = call.InlineBudget;
        FlushDeferredBefore(budget.TypicalNanoseconds * messages, me);
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
        budget.End(begun, messages, HasOtherWork && !_ring.IsNextOf(call.Id.Value));
        return true;
    }

    /// <summary>
    /// Publishes deferred responses if user code of this typical duration would defer them beyond the limit. Reading
    /// the clock would cost more than such code. The watchdog handles code that takes much longer than is typical.
    /// </summary>
    private void FlushDeferredBefore(long nanoseconds, LoopThread me)
    {
        _deferredNanoseconds = _sender.HasDeferred ? _deferredNanoseconds + nanoseconds : nanoseconds;
        me.MayDefer = nanoseconds <= MaxDeferredNanoseconds;
        if (_deferredNanoseconds > MaxDeferredNanoseconds)
        {
            _sender.FlushDeferred();
            _deferredNanoseconds = nanoseconds;
        }
    }
}
