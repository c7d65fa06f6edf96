using RpcOverShm.Rings;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <content>
/// The blocking callers of a connection, after the Leader/Followers pattern: the caller that takes the reader role
/// reads, and the others sleep. The reading caller queues the pending user code of other calls, because that code could
/// delay its own response. A caller that has waited for 20 ms leaves the reading to the event loop. It then waits for a
/// task: the thread pool learns that one of its threads is blocked, and <see cref="Thread.Interrupt"/> ends the wait.
/// The state of a caller is in its <see cref="CallerLease"/>.
/// </content>
internal sealed partial class ConnectionReader
{
    // Records of other calls after which the caller checks its own deadline and the link.
    private const int MaxRecordsPerCheck = 64;

    // The records that a one-way call reads to free capacity: as many as the End frames of a full default window.
    private const int MaxRecordsPerAvailableRead = 512;

    // The number of polls after which a caller that always finds records reads the clock.
    private const int PollsPerClockRead = 64;

    // If callers are at least this far apart, each arms the ring when it leaves. For callers in quick succession the
    // watchdog arms it later, once for all; for rare ones that would cost more.
    private const int IdleMilliseconds = 2;

    private readonly SpinBudget _dataSpin = new();
    private readonly SpinBudget _signalSpin = new();
    private readonly Action _alarm;
    private readonly Action<Exception> _onCallbackFailed;
    private long _lastFoundArmedAt; // when a caller last found the ring armed; only the holder of the role uses it

    /// <summary>
    /// Prepares a caller to send and to block. The caller takes the reader role first if it is free: the peer then need
    /// not wake the event loop for a response that the caller reads itself. If the role is taken, the caller counts as
    /// blocked, which makes the event loop give way. <see cref="LeaveCaller"/> must follow, also after an exception.
    /// </summary>
    public void EnterCaller(ref CallerLease lease)
    {
        if (!TryTakeRole(ref lease))
        {
            lease.IsCounted = true;
            AddBlocked();
        }
    }

    /// <summary>
    /// Reads, or sleeps while another thread reads, until the call is done. Meanwhile it runs the callbacks for this
    /// call. If this call is itself made in a callback, it also runs those for the calls in front of it in the chain.
    /// </summary>
    public void WaitUntilDone(ConnectionCall call, ref CallerLease lease)
    {
        bool hasDeadline = call.Remaining is not null;
        while (!call.IsWaitOver)
        {
            if (call.Latch!.HasWork)
            {
                RunCallback(call, ref lease);
            }
            else if (lease.IsReadingTimeOver)
            {
                WaitWithoutReading(call, ref lease);
                EndIfExpired(call, hasDeadline);
            }
            else if (lease.HasRole)
            {
                ReadForCaller(call, ref lease, hasDeadline);
                ReleaseRole(ref lease);
            }
            else if (!TryTakeRole(ref lease))
            {
                WaitForSignal(call, ref lease);
                EndIfExpired(call, hasDeadline);
            }
        }
    }

    // The caller leaves the connection while it runs user code, so that another thread can read.
    private void RunCallback(ConnectionCall call, ref CallerLease lease)
    {
        call.StartDeadlineTimer();
        LeaveCaller(ref lease);
        if (LoopThread.Current is { } loop)
        {
            // The response of a callback must be published before the blocked code returns.
            loop.MayDefer = false;
        }

        call.Latch!.Queue.RunOne(_onCallbackFailed);
        EnterCaller(ref lease);
    }

    /// <summary>
    /// Reads the available records, up to 512, if the reader role is free. They may be End frames of one-way calls, for
    /// which no thread is woken. The caller then checks for capacity and ensures that there is a reader.
    /// </summary>
    public void ReadAvailable()
    {
        // The role first: only its holder may touch the ring, which a close unmaps once the role has ended.
        if (_link.IsClosed || !_role.TryTake())
        {
            return;
        }

        if (_ring.HasData)
        {
            _ring.Disarm();
            for (int records = 0; records < MaxRecordsPerAvailableRead && !_link.IsClosed; records++)
            {
                if (!TryReceive(out ConnectionCall? call))
                {
                    break;
                }

                if (call is not null)
                {
                    QueueOrSignal(call);
                }
            }
        }

        _role.Release();
        SignalCallersIfFree();
        if (_link.IsClosed)
        {
            Request();
        }
    }

    /// <summary>Releases what the caller holds, and ensures that the remaining calls have a reader.</summary>
    public void LeaveCaller(ref CallerLease lease)
    {
        try
        {
            if (lease.HasRole)
            {
                ReleaseRole(ref lease);
            }
        }
        finally
        {
            if (lease.IsCounted)
            {
                lease.IsCounted = false;
                RemoveBlocked();
            }
        }

        EnsureReader(lease.ArmsOnLeave);
        lease.ArmsOnLeave = false;
    }

    private bool TryTakeRole(ref CallerLease lease)
    {
        // After a close the free role belongs to the event loop, which ends the connection with it.
        if (_link.IsClosed || !_role.TryTake())
        {
            return false;
        }

        lease.HasRole = true;
        if (_ring.ArmedFor != WakeMethods.None)
        {
            lease.ArmsOnLeave = Environment.TickCount64 - _lastFoundArmedAt >= IdleMilliseconds;
            _lastFoundArmedAt = Environment.TickCount64;
            _ring.Disarm();
        }

        // User code may be waiting for the response to a frame whose publish it deferred.
        _sender.FlushDeferred();
        return true;
    }

    private void ReleaseRole(ref CallerLease lease)
    {
        lease.HasRole = false;
        _role.Release();
        if (_link.IsClosed)
        {
            // The event loop may have found the role taken when it handled the close, so it must run again.
            Request();
        }
    }

    // The caller ends its own call at the deadline, so a blocking call needs neither a timer nor a pool thread.
    private static void EndIfExpired(ConnectionCall call, bool hasDeadline)
    {
        if (hasDeadline && !call.IsWaitOver && call.Remaining <= TimeSpan.Zero)
        {
            call.OnDeadline();
        }
    }

    // The caller does not count as blocked here, so the event loop reads. The thread that reads the response signals
    // it.
    private void WaitWithoutReading(ConnectionCall call, ref CallerLease lease)
    {
        LeaveCaller(ref lease);
        if (!call.HasWorkForThread)
        {
            LoopThread.LeaveLoopBeforeSleep();
            call.Latch!.WaitLong(WaitBounds.Within(call.Remaining));
        }
    }

    private void ReadForCaller(ConnectionCall mine, ref CallerLease lease, bool hasDeadline)
    {
        for (int polls = 1; !mine.HasWorkForThread && !_link.IsClosed; polls++)
        {
            if (polls % PollsPerClockRead == 0 && lease.GetReadingTimeLeft() == TimeSpan.Zero)
            {
                return;
            }

            uint localEvents = _link.LocalEvents;
            bool isPeerGone = _link.SealIfPeerGone();
            long since = 0;
            if (!ReceiveForCaller(mine)
                && !CloseIfPeerGone(isPeerGone)
                && !_dataSpin.SpinUntil(new DataCondition(_ring, mine), out since))
            {
                TimeSpan left = lease.GetReadingTimeLeft();
                if (left == TimeSpan.Zero)
                {
                    return;
                }

                try
                {
                    if (Arm(WakeMethods.Futex) && !mine.IsWaitOver)
                    {
                        Sleep(mine, localEvents, left, since);
                    }
                }
                finally
                {
                    // After an exception, too: no other reader may take the ring for armed.
                    _ring.Disarm();
                }
            }

            EndIfExpired(mine, hasDeadline);
        }
    }

    private void Sleep(ConnectionCall mine, uint localEvents, TimeSpan left, long since)
    {
        LoopThread.LeaveLoopBeforeSleep();
        AutoResetLatch me = mine.Latch!;
        me.Alarm = _alarm;
        try
        {
            // StoreLoad: the alarm is set before the check for callbacks. A thread that adds one then reads the alarm.
            Interlocked.MemoryBarrier();

            // SleepForData returns false on a timeout. Data that arrives at the same moment is no measure of a wake-up.
            if (!me.HasWork
                && _link.SleepForData(_ring.Position, localEvents, WaitBounds.Within(mine.Remaining, left))
                && _ring.HasData)
            {
                _dataSpin.RecordSleep(since);
            }
        }
        finally
        {
            me.Alarm = null;
        }
    }

    /// <summary>
    /// Receives up to 64 records. Stops earlier if the ring is empty, the caller must handle its call or a callback,
    /// the link is closed, or the peer is gone. Returns whether a record was received.
    /// </summary>
    private bool ReceiveForCaller(ConnectionCall mine)
    {
        int records = 0;
        while (records < MaxRecordsPerCheck && !mine.HasWorkForThread && TryReceive(out ConnectionCall? call))
        {
            records++;
            if (call is not null && call != mine)
            {
                QueueOrSignal(call);
            }

            // A peer that sends without a pause must not keep this thread from noticing a close, or the peer's own end.
            if (_link.IsClosed || _link.IsPeerGone)
            {
                break;
            }
        }

        return records > 0;
    }

    private static void QueueOrSignal(ConnectionCall call)
    {
        if (call.HasUnqueuedUserCode)
        {
            call.MessagesDue = 0;
            call.QueueUserCode();
        }
        else if (call.IsWaitOver)
        {
            call.Latch?.Signal();
        }
    }

    private void WaitForSignal(ConnectionCall call, ref CallerLease lease)
    {
        AutoResetLatch latch = call.Latch!;
        if (!_link.IsClosed && _signalSpin.SpinUntil(new SignalCondition(latch, call, _role)))
        {
            latch.Clear();
            return;
        }

        SleepingCallers.Add(latch);
        try
        {
            // A thread that freed the role before this caller was in the list has not signalled it, so check again.
            // After a close the free role belongs to the event loop, which signals every caller when their calls have
            // ended.
            Interlocked.MemoryBarrier();
            if (!call.HasWorkForThread && (!_role.IsFree || _link.IsClosed))
            {
                LoopThread.LeaveLoopBeforeSleep();
                latch.Wait(WaitBounds.Within(call.Remaining, lease.GetReadingTimeLeft()));
            }
        }
        finally
        {
            // After an exception too, or this caller would get signals meant for a sleeping one.
            SleepingCallers.Remove(latch);
        }
    }

    private readonly struct DataCondition(RingReader ring, ConnectionCall call) : ISpinCondition
    {
        public bool IsMet => ring.HasData || call.HasWorkForThread;
    }

    private readonly struct SignalCondition(AutoResetLatch latch, ConnectionCall call, ReaderRole role)
        : ISpinCondition
    {
        public bool IsMet => call.IsWaitOver || latch.IsSignalled || role.IsFree;
    }
}
