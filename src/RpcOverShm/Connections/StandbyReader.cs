using System.Diagnostics;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Segments;
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
    private readonly InlineRunner _runner;
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
        _runner = new InlineRunner(coordinator);
        _spares = new SpareThreads(() => TryStartThread(RunAsSpare) is null, RunAsSpare);
        coordinator.BringSpare = _spares.Bring;
    }

    private bool MustStop => _coordinator.HasBlockedCallers || _link.IsClosed || _link.IsPeerGone;

    private enum Outcome
    {
        Nothing,
        Something,
        RoleLost,
    }

    /// <summary>Starts the thread. If no thread can start, the connection ends at once.</summary>
    public void Start()
    {
        if (TryStartThread(Run) is not { } reason)
        {
            return;
        }

        _link.Close(reason);

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

    // With the default stack size, because user code runs on the thread.
    private static CloseReason? TryStartThread(Action run) => LinkThread.Start(
        () =>
        {
            TimeSlice.ShortenOfThisThread();
            run();
        },
        ReaderName,
        stackBytes: 0);

    private void RunAsSpare()
    {
        if (WaitAsSpare())
        {
            Run();
        }
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
                break;
            }
        }
        while (WaitAsSpare());

        // The thread may be one of the pool.
        InlineThread.Current = null;
    }

    // Debuggers and profilers show the thread's name: only the thread that is the standby reader is named reader.
    private bool WaitAsSpare()
    {
        Thread me = Thread.CurrentThread;
        me.Name = SpareName;
        if (!_spares.WaitUntilRequested(me.IsThreadPoolThread))
        {
            return false;
        }

        me.Name = ReaderName;
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
            bool isPeerGone = _link.SealIfPeerGone();
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
                if (!_runner.RunOrQueue(me, call))
                {
                    return Outcome.RoleLost;
                }
            }
            else
            {
                _runner.OnRecordWithoutCode();
                if (call is { IsDone: true })
                {
                    call.Waiter?.Signal();
                }
            }

            // Checked after user code, which may take long or close the link itself.
            if (MustStop)
            {
                break;
            }
        }

        return due is null || _runner.RunOrQueue(me, due) ? outcome : Outcome.RoleLost;
    }

    private void SleepArmed(ReaderRole.Token token, long position, uint localEvents, long since)
    {
        _coordinator.Standby = StandbyState.Armed;
        _role.Release(token);
        _coordinator.SignalCallersIfFree();

        // CRASH reader-armed: the peer wakes a process that is gone, which does no harm.
        CrashPoint.Reach(CrashPoint.ReaderArmed);
        TimeSpan timeout = NextTimeout();
        long begun = Stopwatch.GetTimestamp();
        bool isSafetyTimeout = !_link.SleepForData(position, localEvents, timeout);
        _silences = isSafetyTimeout ? _silences + 1 : 0;
        _coordinator.IsSilent = false;
        _coordinator.Standby = StandbyState.Awake;
        if (isSafetyTimeout)
        {
            CheckSafetyTimeout(position, localEvents, begun, timeout);
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

    // If a sleep times out with the ring still armed at the same position, and data is there, a wake-up is late or
    // lost. The wait for a late one is a sleep like any other, without the role: a caller may read meanwhile.
    private void CheckSafetyTimeout(long position, uint localEvents, long begun, TimeSpan timeout)
    {
        bool isLost = false;
        if (HasDataAt(position, StandbyState.Armed))
        {
            isLost = _link.IsWakeupLost(localEvents, begun, timeout) && HasDataAt(position, StandbyState.Awake);
            _coordinator.Standby = StandbyState.Awake;
        }

        _link.OnSafetyTimeout(isLost);
    }

    // Sets the state before it releases the role, so that a thread that finds the role free knows how to wake this one.
    private bool HasDataAt(long position, StandbyState state)
    {
        if (!_role.TryTake(out ReaderRole.Token token))
        {
            return false;
        }

        bool hasData = !_link.IsClosed && _ring.IsArmedAt(position) && _ring.HasData;
        _coordinator.Standby = hasData ? state : StandbyState.Awake;
        _role.Release(token);
        _coordinator.SignalCallersIfFree();
        return hasData;
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
