using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;

namespace RpcOverShm.Connections;

/// <summary>
/// The standby reader: a connection's own thread. It reads while no caller reads for itself, and runs user code inline
/// if the scheduling mode allows. It sleeps armed on the ring, or on its latch while a caller reads. It ends the
/// reading side when the link closes. If user code keeps the role for too long, the watchdog takes the role over and a
/// spare, another thread of this class, takes this thread's place. At most one spare waits idle.
/// </summary>
internal sealed class StandbyReader
{
    // Messages of a stream before its reader is woken: enough to share that cost, few enough for the L1 cache.
    private const int MostRecordsPerWake = 16;

    private const string ReaderName = "RpcOverShm reader";
    private const string SpareName = "RpcOverShm spare";

    private readonly ReaderCoordinator _coordinator;
    private readonly PeerLink _link;
    private readonly RingReader _ring;
    private readonly ReaderRole _role;
    private readonly Action _onClosed;
    private readonly SpareThreads _spares;
    private readonly SpinBudget _spin = new();
    private int _silences; // consecutive sleeps that ended by their timeout

    public StandbyReader(ReaderCoordinator coordinator, Action onClosed)
    {
        _coordinator = coordinator;
        _link = coordinator.Link;
        _ring = coordinator.Ring;
        _role = coordinator.Role;
        _onClosed = onClosed;
        _spares = new SpareThreads(TryStartThread);
        coordinator.BringSpare = _spares.Bring;
    }

    private bool MustStop => _coordinator.HasBlockedCallers || _link.IsClosed;

    private enum Outcome
    {
        Nothing,
        Something,
        RoleLost,
    }

    /// <summary>Starts the thread. If no thread can start, the connection ends at once.</summary>
    public void Start()
    {
        if (TryStartThread())
        {
            return;
        }

        // The link is closed, so a caller that already reads gives the role up soon.
        ReaderRole.Token token;
        while (!_role.TryTake(out token))
        {
            Thread.Yield();
        }

        End(token);
    }

    /// <summary>Lets spares exit, if the event is the close of the link and not just the loss of the peer.</summary>
    public void OnLinkEvent()
    {
        if (_link.IsClosed)
        {
            _spares.Close();
        }
    }

    /// <summary>
    /// Starts a thread with the default stack size, because user code runs on it. Returns false after closing the link
    /// if no thread can start.
    /// </summary>
    private bool TryStartThread()
    {
        if (LinkThread.Start(Run, ReaderName, stackBytes: 0) is not { } reason)
        {
            return true;
        }

        _link.Close(reason);
        return false;
    }

    private void Run()
    {
        var me = new InlineThread(_role);
        InlineThread.Current = me;
        do
        {
            if (ReadUntilLost(me))
            {
                End(me.Token);
                return;
            }
        }
        while (WaitAsSpare());
    }

    // Debuggers and profilers show the thread's name: only the thread that is the standby reader is named reader.
    private bool WaitAsSpare()
    {
        Thread.CurrentThread.Name = SpareName;
        if (!_spares.WaitUntilRequested())
        {
            return false;
        }

        Thread.CurrentThread.Name = ReaderName;
        return true;
    }

    private void End(ReaderRole.Token token)
    {
        _role.Retire(token);
        _onClosed();
        _link.Leave();
    }

    /// <summary>
    /// Acts as the standby reader. Returns true when the connection must end, with the role held, and false when the
    /// role was lost to another thread.
    /// </summary>
    private bool ReadUntilLost(InlineThread me)
    {
        while (true)
        {
            if (!_role.TryTake(out me.Token))
            {
                if (_role.IsRetired)
                {
                    return false;
                }

                SleepUntilRequested();
            }
            else if (_link.IsClosed)
            {
                return true;
            }
            else if (!Read(me))
            {
                _coordinator.OnReturned();
                _coordinator.FlushDeferred();
                return false;
            }
        }
    }

    /// <summary>
    /// Reads until the ring is empty, then frees the role and sleeps. Returns false if the role was lost.
    /// </summary>
    private bool Read(InlineThread me)
    {
        _ring.Disarm();
        _coordinator.FlushDeferred();
        while (!_link.IsClosed)
        {
            uint localEvents = _link.LocalEvents;
            bool isPeerGone = _link.IsPeerGone;
            long since = 0;
            if (_coordinator.HasBlockedCallers)
            {
                HandOver(me.Token);
                return true;
            }

            Outcome received = Receive(me);
            if (received == Outcome.RoleLost)
            {
                return false;
            }

            _coordinator.FlushDeferred();
            if (received == Outcome.Something
                || _coordinator.CloseIfPeerGone(isPeerGone)
                || _spin.SpinUntil(new Condition(_ring, _coordinator), out since))
            {
                continue;
            }

            if (_coordinator.Arm(out long position))
            {
                SleepArmed(me.Token, position, localEvents, since);
                return true;
            }

            _ring.Disarm();
        }

        _role.Release(me.Token);
        return true;
    }

    /// <summary>Receives records until none is left, and runs or queues the user code that becomes runnable.</summary>
    private Outcome Receive(InlineThread me)
    {
        var outcome = Outcome.Nothing;
        ConnectionCall? due = null;
        int records = 0;
        while (_coordinator.TryReceive(out ConnectionCall? call))
        {
            outcome = Outcome.Something;
            if (due is not null && due != call)
            {
                // The next record is for another call after all: the peer has changed it since it was checked.
                due.QueueUserCode();
                due = null;
            }

            if (call is { HasUserCode: true })
            {
                // Messages of one stream that came together cause a single wake-up, if no record of another call lies
                // between them. Such a record must not be received first: the woken code may block this thread before
                // the other call is served.
                records = due is null ? 1 : records + 1;
                if (records < MostRecordsPerWake
                    && !MustStop
                    && call.HasOnlyReaderToWake
                    && _ring.IsNextOf(call.Id.Value))
                {
                    due = call;
                    continue;
                }

                due = null;
                if (!RunOrQueue(me, call))
                {
                    return Outcome.RoleLost;
                }
            }
            else if (call is { IsDone: true })
            {
                call.Waiter?.Signal();
            }

            // Checked after user code, which may take long or close the link itself.
            if (MustStop)
            {
                break;
            }
        }

        return due is null || RunOrQueue(me, due) ? outcome : Outcome.RoleLost;
    }

    /// <summary>Runs or queues the pending user code of a call. Returns false if the role was lost meanwhile.</summary>
    private bool RunOrQueue(InlineThread me, ConnectionCall call)
    {
        if (_coordinator.IsInline(call.Budget))
        {
            return RunInline(me, call);
        }

        call.MessagesDue = 0;
        call.QueueUserCode();
        return true;
    }

    /// <summary>Runs a call's pending user code inline, without locks. Returns false if the role was lost.</summary>
    private bool RunInline(InlineThread me, ConnectionCall call)
    {
        int messages = Math.Max(call.MessagesDue, 1);
        call.MessagesDue = 0;
        InlineBudget budget = call.Budget;
        _coordinator.SetRunning(budget);
        _role.EnterUserCode(ref me.Token);
        _coordinator.EnsureWatched();

        // The time starts after the wake-up of the watchdog, which is not the user code's cost.
        long begun = budget.Begin();
        me.IsInUserCode = true;
        try
        {
            call.RunUserCode();
        }
        catch (Exception exception)
        {
            // Tasks store their exceptions. This one comes from a user's synchronization context or task scheduler.
            _link.LogUserCodeFailed(exception);
        }

        me.IsInUserCode = false;
        AmbientContext.RestoreClean();
        if (!_role.TryReturn(ref me.Token))
        {
            return false;
        }

        // More records of the same call wait only for that call's own code, so they do not count as waiting.
        budget.End(begun, messages, _ring.HasData && !_ring.IsNextOf(call.Id.Value));
        return true;
    }

    private void SleepArmed(ReaderRole.Token token, long position, uint localEvents, long since)
    {
        _coordinator.Standby = StandbyState.Armed;
        _role.Release(token);
        _coordinator.SignalCallersIfFree();

        // CRASH reader-armed: the peer wakes a process that is gone, which does no harm.
        CrashPoint.Reach(CrashPoint.ReaderArmed);
        bool isSafetyTimeout = !_link.SleepForData(position, localEvents, NextTimeout());
        _silences = isSafetyTimeout ? _silences + 1 : 0;
        _coordinator.IsSilent = false;
        _coordinator.Standby = StandbyState.Awake;
        if (isSafetyTimeout)
        {
            CheckSafetyTimeout(position, localEvents);
        }
        else if (_link.LocalEvents == localEvents)
        {
            _spin.RecordSleep(since);
        }
    }

    private TimeSpan NextTimeout()
    {
        if (_silences == 0)
        {
            return WaitBounds.SafetyTimeout;
        }

        // StoreLoad: the announcement precedes the check for calls. A thread that starts a call counts it first and
        // checks the announcement afterwards.
        _coordinator.AnnounceSilence();
        return WaitBounds.AfterSilence(_coordinator.HasCalls ? 0 : _silences);
    }

    // If a sleep times out with the ring still armed at the same position, and there is data, a wake-up was lost.
    private void CheckSafetyTimeout(long position, uint localEvents)
    {
        if (_role.TryTake(out ReaderRole.Token token))
        {
            bool isLostWakeup = !_link.IsClosed
                && _ring.IsArmedAt(position)
                && _ring.HasData
                && !_link.WaitForLateWake(localEvents);
            _link.OnSafetyTimeout(isLostWakeup);
            _role.Release(token);
        }
    }

    /// <summary>Releases the role to a blocking caller that reads for itself, and sleeps until requested.</summary>
    private void HandOver(ReaderRole.Token token)
    {
        _coordinator.Standby = StandbyState.OnLatch;
        _role.Release(token);
        _coordinator.FindReader();
        _coordinator.StandbyRequested.Wait(WaitBounds.SafetyTimeout);
        _coordinator.Standby = StandbyState.Awake;
    }

    private void SleepUntilRequested()
    {
        // StoreLoad: the announcement precedes the check of the role. A thread that frees the role sees the
        // announcement, or the role is seen free here.
        _coordinator.AnnounceStandby(StandbyState.OnLatch);
        if (!_role.IsFree)
        {
            _coordinator.StandbyRequested.Wait(WaitBounds.SafetyTimeout);
        }

        _coordinator.Standby = StandbyState.Awake;
    }

    private readonly struct Condition(RingReader ring, ReaderCoordinator coordinator) : ISpinCondition
    {
        public bool IsMet => ring.HasData || coordinator.HasBlockedCallers || coordinator.Link.IsClosed;
    }
}
