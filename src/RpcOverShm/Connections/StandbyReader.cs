using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;

namespace RpcOverShm.Connections;

/// <summary>
/// A connection's own thread: reads while no caller reads for itself and runs user code inline where it may; sleeps
/// armed or on its latch otherwise; ends the reading side when the link is closed. When user code keeps the role for
/// too long it is taken away, and a spare takes this thread's place: another thread of this class, of which at most one
/// waits idle.
/// </summary>
internal sealed class StandbyReader
{
    // Of one stream: enough to make a wake-up cheap, and few enough that they stay in the first-level cache.
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
    private int _silences; // sleeps in a row that ended by their bound

    /// <param name="coordinator">What the reading threads share.</param>
    /// <param name="onClosed">Runs once, on the thread that ends the reading, when nobody reads any more.</param>
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

    /// <summary>Starts the thread. Without one the connection ends at once.</summary>
    public void Start()
    {
        if (TryStartThread())
        {
            return;
        }

        // The link is closed, so a caller that reads already gives the role up.
        ReaderRole.Token token;
        while (!_role.TryTake(out token))
        {
            Thread.Yield();
        }

        End(token);
    }

    /// <summary>The link is closed, or its peer is gone: spares go home.</summary>
    public void OnLinkEvent()
    {
        if (_link.IsClosed)
        {
            _spares.Close();
        }
    }

    /// <summary>With the runtime's own stack: users' code runs on it. False when the link was closed instead.</summary>
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

    // The name is for whoever looks at the process from outside: only one thread of a connection reads.
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
    /// Is the standby until the connection ends (true) or the role is lost to another thread (false).
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
    /// Reads until there is nothing to read, then gives the role up and sleeps. False when the role was lost.
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

    /// <summary>Takes records and runs or queues the user code that they make due, until there is none.</summary>
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
                // A peer that has changed a record since it was looked at.
                due.QueueUserCode();
                due = null;
            }

            if (call is { HasUserCode: true })
            {
                // The reader of a stream is woken once for messages that came together, if nothing of others is between
                // them: no record of theirs may be taken by a thread that is then kept by this one's code.
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

            // After user code, which takes its time, and may itself be what closes the link.
            if (MustStop)
            {
                break;
            }
        }

        return due is null || RunOrQueue(me, due) ? outcome : Outcome.RoleLost;
    }

    /// <summary>False when the role was lost meanwhile.</summary>
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

    /// <summary>
    /// Runs user code on this thread, holding nothing of ours. False when the role was lost meanwhile.
    /// </summary>
    private bool RunInline(InlineThread me, ConnectionCall call)
    {
        int messages = Math.Max(call.MessagesDue, 1);
        call.MessagesDue = 0;
        InlineBudget budget = call.Budget;
        _coordinator.SetRunning(budget);
        _role.EnterUserCode(ref me.Token);
        _coordinator.EnsureWatched();

        // Only now: waking the sentinel takes its time, which is not the user code's.
        long begun = budget.Begin();
        me.IsInUserCode = true;
        try
        {
            call.RunUserCode();
        }
        catch (Exception exception)
        {
            // Tasks keep their exceptions; this is a synchronization context or scheduler of the user's that throws.
            _link.LogUserCodeFailed(exception);
        }

        me.IsInUserCode = false;
        AmbientContext.RestoreClean();
        if (!_role.TryReturn(ref me.Token))
        {
            return false;
        }

        // More of the same call waits for its own code only.
        budget.End(begun, messages, _ring.HasData && !_ring.IsNextOf(call.Id.Value));
        return true;
    }

    private void SleepArmed(ReaderRole.Token token, long position, uint localEvents, long since)
    {
        _coordinator.Standby = StandbyState.Armed;
        _role.Release(token);
        _coordinator.SignalCallersIfFree();

        // CRASH reader-armed: the peer rings a process that is gone, which harms nobody.
        CrashPoint.Reach(CrashPoint.ReaderArmed);
        bool isSafetyTimeout = !_link.SleepForData(position, localEvents, NextBound());
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

    private TimeSpan NextBound()
    {
        if (_silences == 0)
        {
            return WaitBounds.SafetyTimeout;
        }

        // A full fence between: whoever starts a call counts it and then looks at the announcement.
        _coordinator.AnnounceSilence();
        return WaitBounds.AfterSilence(_coordinator.HasCalls ? 0 : _silences);
    }

    // A time-out that finds the ring as it was armed, but with data, is a ring that never came.
    private void CheckSafetyTimeout(long position, uint localEvents)
    {
        if (_role.TryTake(out ReaderRole.Token token))
        {
            bool isUnrung = !_link.IsClosed
                && _ring.IsArmedAt(position)
                && _ring.HasData
                && !_link.WaitForLateWake(localEvents);
            _link.OnSafetyTimeout(isUnrung);
            _role.Release(token);
        }
    }

    /// <summary>
    /// A caller wants to read for itself: the role goes to it, and the standby sleeps until it is wanted.
    /// </summary>
    private void HandOver(ReaderRole.Token token)
    {
        _coordinator.Standby = StandbyState.OnLatch;
        _role.Release(token);
        _coordinator.LookForReader();
        _coordinator.StandbyRequested.Wait(WaitBounds.SafetyTimeout);
        _coordinator.Standby = StandbyState.Awake;
    }

    private void SleepUntilRequested()
    {
        // The fence orders the announcement before the look at the role: whoever frees it sees the one or is seen.
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
