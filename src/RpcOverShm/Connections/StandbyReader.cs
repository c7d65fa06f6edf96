using RpcOverShm.Diagnostics;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;

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

    private readonly ReaderDesk _desk;
    private readonly PeerLink _link;
    private readonly RingReader _ring;
    private readonly ReaderRole _role;
    private readonly Action _onClosed;
    private readonly SpareThreads _spares;
    private readonly SpinBudget _spin = new();
    private int _silences; // sleeps in a row that ended by their bound

    /// <param name="desk">What the reading threads share.</param>
    /// <param name="onClosed">Runs once, on the thread that ends the reading, when nobody reads any more.</param>
    public StandbyReader(ReaderDesk desk, Action onClosed)
    {
        _desk = desk;
        _link = desk.Link;
        _ring = desk.Ring;
        _role = desk.Role;
        _onClosed = onClosed;
        _spares = new SpareThreads(TryStartThread);
        desk.BringSpare = _spares.Bring;
    }

    private bool MustStop => _desk.HasBlockedCallers || _link.IsClosed;

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
        var me = new InlineThread(_desk);
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
        if (!_spares.WaitUntilWanted())
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

                SleepUntilWanted();
            }
            else if (_link.IsClosed)
            {
                return true;
            }
            else if (!Read(me))
            {
                _desk.NoteReturn();
                _desk.FlushHeld();
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
        _desk.FlushHeld();
        while (!_link.IsClosed)
        {
            uint attention = _link.Attention;
            bool isPeerGone = _link.IsPeerGone;
            long since = 0;
            if (_desk.HasBlockedCallers)
            {
                HandOver(me.Token);
                return true;
            }

            Outcome received = Receive(me);
            if (received == Outcome.RoleLost)
            {
                return false;
            }

            _desk.FlushHeld();
            if (received == Outcome.Something
                || _desk.CloseIfPeerGone(isPeerGone)
                || _spin.SpinUntil(new Condition(_ring, _desk), out since))
            {
                continue;
            }

            if (_desk.Arm(out long position))
            {
                SleepArmed(me.Token, position, attention, since);
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
        while (_desk.TryReceive(out ConnectionCall? call))
        {
            outcome = Outcome.Something;
            if (due is not null && due != call)
            {
                // A peer that has changed a record since it was looked at.
                due.QueueWork();
                due = null;
            }

            if (call is { HasWork: true })
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
        if (_desk.IsInline(call.Budget))
        {
            return RunInline(me, call);
        }

        call.MessagesDue = 0;
        call.QueueWork();
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
        _desk.NoteInline(budget);
        _role.EnterUserCode(ref me.Token);
        _desk.EnsureWatched();

        // Only now: waking the sentinel takes its time, which is not the user code's.
        long begun = budget.Begin();
        me.IsInUserCode = true;
        try
        {
            call.RunWork();
        }
        catch (Exception exception)
        {
            // Tasks keep their exceptions; this is a synchronization context or scheduler of the user's that throws.
            _link.LogUserCodeFailed(exception);
        }

        me.IsInUserCode = false;
        CleanContext.Restore();
        if (!_role.TryReturn(ref me.Token))
        {
            return false;
        }

        // More of the same call waits for its own code only.
        budget.End(begun, messages, _ring.HasData && !_ring.IsNextOf(call.Id.Value));
        return true;
    }

    private void SleepArmed(ReaderRole.Token token, long position, uint attention, long since)
    {
        _desk.Standby = StandbyState.Armed;
        _role.Release(token);
        _desk.SignalCallersIfFree();

        // CRASH reader-armed: the peer rings a process that is gone, which harms nobody.
        CrashPoint.Reach(CrashPoint.ReaderArmed);
        bool isBackstop = !_link.SleepForData(position, attention, NextBound());
        _silences = isBackstop ? _silences + 1 : 0;
        _desk.IsSilent = false;
        _desk.Standby = StandbyState.Awake;
        if (isBackstop)
        {
            CheckBackstop(position, attention);
        }
        else if (_link.Attention == attention)
        {
            _spin.NoteSlept(since);
        }
    }

    private TimeSpan NextBound()
    {
        if (_silences == 0)
        {
            return WaitBounds.Backstop;
        }

        // A full fence between: whoever starts a call counts it and then looks at the announcement.
        _desk.AnnounceSilence();
        return WaitBounds.AfterSilence(_desk.HasCalls ? 0 : _silences);
    }

    // A time-out that finds the ring as it was armed, but with data, is a ring that never came.
    private void CheckBackstop(long position, uint attention)
    {
        if (_role.TryTake(out ReaderRole.Token token))
        {
            bool isUnrung = !_link.IsClosed
                && _ring.IsArmedAt(position)
                && _ring.HasData
                && !_link.IsRungAfterAll(attention);
            _link.OnBackstop(isUnrung);
            _role.Release(token);
        }
    }

    /// <summary>
    /// A caller wants to read for itself: the role goes to it, and the standby sleeps until it is wanted.
    /// </summary>
    private void HandOver(ReaderRole.Token token)
    {
        _desk.Standby = StandbyState.OnLatch;
        _role.Release(token);
        _desk.LookForReader();
        _desk.StandbyWanted.Wait(WaitBounds.Backstop);
        _desk.Standby = StandbyState.Awake;
    }

    private void SleepUntilWanted()
    {
        // The fence orders the announcement before the look at the role: whoever frees it sees the one or is seen.
        _desk.AnnounceStandby(StandbyState.OnLatch);
        if (!_role.IsFree)
        {
            _desk.StandbyWanted.Wait(WaitBounds.Backstop);
        }

        _desk.Standby = StandbyState.Awake;
    }

    private readonly struct Condition(RingReader ring, ReaderDesk desk) : ISpinCondition
    {
        public bool IsMet => ring.HasData || desk.HasBlockedCallers || desk.Link.IsClosed;
    }
}
