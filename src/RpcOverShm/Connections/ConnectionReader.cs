using System.Diagnostics;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Topics;

namespace RpcOverShm.Connections;

/// <summary>
/// Reads a connection, on its event loop or on the threads of blocking callers. This part has the state that these
/// threads share: the reader role, the sleeping callers, and the choice of the next reader. ARCHITECTURE.md, "Who
/// reads", has the rules and the failure that each prevents.
/// Only the thread that holds the role uses members marked "holder only". Only the thread of the event loop calls the
/// members of <see cref="EventSource"/>, and only the watchdog uses the fields of its check. All other members are
/// thread-safe.
/// </summary>
internal sealed partial class ConnectionReader : EventSource
{
    // The time without activity after which the watchdog stops checking.
    private static readonly TimeSpan s_quietTime = TimeSpan.FromMilliseconds(20);

    private readonly PeerLink _link;
    private readonly RingReader _ring;
    private readonly ReaderRole _role;
    private readonly FrameReceiver _receiver;
    private readonly FrameSender _sender;
    private readonly PeerTopics? _topics; // null for all but clients of a server that has some
    private readonly SchedulingMode _mode;
    private readonly bool _hasSpareProcessor; // for the thread pool, beside those of the event loop and of the peer
    private readonly Action _onClosed;
    private readonly Func<WatchdogCheck> _watchdogCheck;
    private long _deferredNanoseconds;  // typical time of the user code that ran since a publish was deferred
    private volatile int _blocked;      // callers that wait for the role or for their response
    private volatile int _isWatched;    // 1 while the watchdog checks this connection
    private long _takeOvers;            // loops taken over from user code of this connection
    private InlineBudget? _running;     // the budget of the user code that runs inline; null for other work
    private int _stuck;                 // threads that have lost the loop in user code of this connection
    private long _lastRoleWord;         // the role's word at the watchdog's last check
    private long _lastRoleWordAt;       // when the watchdog first saw that word

    public ConnectionReader(
        PeerLink link,
        ReaderRole role,
        FrameReceiver receiver,
        FrameSender sender,
        SchedulingMode mode,
        Action onClosed,
        int? processors = null)
    {
        _link = link;
        _ring = link.Reader;
        _role = role;
        _receiver = receiver;
        _sender = sender;
        _topics = link.PeerTopics;
        _mode = mode;
        _onClosed = onClosed;
        _alarm = link.RaiseLocalEvent;
        _onCallbackFailed = link.LogUserCodeFailed;
        _hasSpareProcessor = (processors ?? Environment.ProcessorCount) > 2;
        _watchdogCheck = OnWatchdogCheck;
    }

    /// <summary>The blocking callers that sleep while another thread reads.</summary>
    public SleepingCallers SleepingCallers { get; } = new();

    /// <summary>
    /// The number of times that the event loop was taken over from slow user code of this connection.
    /// </summary>
    public long TakeOvers => Interlocked.Read(ref _takeOvers);

    private bool HasBlockedCallers => _blocked > 0;

    /// <summary>
    /// Whether a frame may arrive that must be read at once. That is always so on the side that accepted the link and
    /// on a side that serves calls. On any other side it is so while a call waits for its response or for capacity.
    /// </summary>
    private bool ExpectsFrames => _link.IsAcceptor
        || _receiver.IsServing
        || _sender.Outgoing.TwoWayCounter.Count > 0
        || _sender.OneWayCalls.HasWaiters;

    /// <summary>
    /// Disarms the ring before a one-way call starts, unless frames are expected. The End frames of one-way calls then
    /// cause no wake-up. They are read with the next other frame, or after 20 ms, when the watchdog makes the event
    /// loop read.
    /// </summary>
    public void DisarmForOneWayEnds()
    {
        if (!ExpectsFrames && _ring.ArmedFor != WakeMethods.None && _role.TryTake())
        {
            _ring.Disarm();
            _role.Release();
            SignalCallersIfFree();
        }
    }

    public void AddBlocked() => Interlocked.Increment(ref _blocked);

    public void RemoveBlocked() => Interlocked.Decrement(ref _blocked);

    /// <summary>
    /// Ensures that a thread reads, or will be woken when data comes. Must follow every release of the role, and every
    /// start of a call for which no caller blocks. The caller must have executed a full fence: releasing the role is
    /// one.
    /// </summary>
    /// <param name="armsOnLeave">
    /// Whether the caller that leaves arms the ring at once; see <see cref="CallerLease.ArmsOnLeave"/>.
    /// </param>
    public void EnsureReader(bool armsOnLeave = false)
    {
        if (HasBlockedCallers)
        {
            SignalCallersIfFree();
        }
        else if (ExpectsFrames)
        {
            EnsureLoopReads();
        }
        else if (armsOnLeave)
        {
            ArmForLoop();
        }
        else
        {
            EnsureWatched();
        }
    }

    /// <summary>Receives the next record. An invalid record closes the link. Holder only.</summary>
    /// <returns>False if there was no record, or an invalid one.</returns>
    public bool TryReceive(out ConnectionCall? call)
    {
        try
        {
            if (_receiver.TryReceive(out call))
            {
                return true;
            }
        }
        catch (Exception exception)
        {
            CloseKind kind = exception is ProtocolException or RingCorruptedException
                ? CloseKind.PeerViolation
                : CloseKind.InternalError;
            _link.Close(new CloseReason(kind, exception.Message, exception));
            call = null;
            return false;
        }

        // Waiting one-way calls are woken here, too, and not only in Arm: steady traffic of other calls delays arming.
        if (_sender.OneWayCalls.HasWaiters)
        {
            _sender.WakeOneWay(onlyIfHalfFree: false);
        }

        return false;
    }

    protected override void OnLostDoorbell() => _link.OnSafetyTimeout(isLostWakeup: true);

    protected override MissedDoorbell? FindMissedDoorbell()
    {
        if (_sender.CanSendQueued)
        {
            return new MissedDoorbell(IsForSpace: true, _link.Writer.HeadHint);
        }

        if (!_ring.HasData || !_role.TryTake())
        {
            return null;
        }

        bool isMissed = !_link.IsClosed && (_ring.ArmedFor & WakeMethods.Doorbell) != 0 && _ring.HasData;
        var missed = new MissedDoorbell(IsForSpace: false, _ring.Position);
        _role.Release();

        // The role was taken and released for this check, so a reader must be ensured.
        EnsureReader();
        return isMissed ? missed : null;
    }

    /// <summary>
    /// Ensures that the watchdog checks this connection. The caller must have executed a full fence. If the system has
    /// no thread for the watchdog, the next call tries again.
    /// </summary>
    private void EnsureWatched()
    {
        if (_isWatched == 0 && Interlocked.Exchange(ref _isWatched, 1) == 0 && !Watchdog.Watch(_watchdogCheck))
        {
            _isWatched = 0;
        }
    }

    /// <summary>Signals a sleeping caller to take the role, if the role is free.</summary>
    private void SignalCallersIfFree()
    {
        if (HasBlockedCallers && _role.IsFree)
        {
            SleepingCallers.SignalOne();
        }
    }

    /// <summary>
    /// Publishes the exact head and arms the ring. Returns false if there is data already. Holder only.
    /// </summary>
    private bool Arm(WakeMethods wakeMethods)
    {
        WakeMethods forSpace = _ring.PublishHead();
        if (forSpace != WakeMethods.None)
        {
            _link.WakePeerForSpace(forSpace);
        }

        // CRASH head-published: the head is exact, but the reader has died. The socket's end wakes the waiting writer.
        CrashPoint.Reach(CrashPoint.HeadPublished);
        bool isArmed = _ring.Arm(wakeMethods);

        // CRASH reader-armed: the peer wakes a process that is gone, which does no harm.
        CrashPoint.Reach(CrashPoint.ReaderArmed);

        // StoreLoad: Arm is a full fence after the capacity was returned. A call that this check misses checks for
        // capacity later and finds it.
        if (_sender.OneWayCalls.HasWaiters)
        {
            _sender.WakeOneWay(onlyIfHalfFree: false);
        }

        return isArmed;
    }

    /// <summary>Closes the link if the peer was gone before the ring was last found empty. Holder only.</summary>
    private bool CloseIfPeerGone(bool isPeerGone)
    {
        if (isPeerGone)
        {
            _link.CloseAfterPeer();
        }

        return isPeerGone;
    }

    /// <summary>
    /// Makes the event loop read the connection if the role is free. Requests a run if the loop is awake, otherwise
    /// arms the ring so that the peer wakes the loop. Does nothing if the ring is armed or the connection is active:
    /// the loop then reads an active connection in its next rotation, and checks again before it parks it.
    /// </summary>
    private void EnsureLoopReads()
    {
        if (!_role.IsFree || IsActive || _ring.ArmedFor != WakeMethods.None)
        {
            return;
        }

        if (_role.IsOfLoopOnly || Loop is { IsAwake: true })
        {
            Request();
        }
        else
        {
            ArmForLoop();
        }
    }

    /// <summary>Arms for the loop that has parked the connection, after a caller has disarmed.</summary>
    private void ArmForLoop()
    {
        if (!_role.TryTake())
        {
            return;
        }

        bool isArmed;
        try
        {
            isArmed = !_link.IsClosed && Arm(WakeMethods.Doorbell);
        }
        finally
        {
            _role.Release();
        }

        if (!isArmed || _link.IsClosed)
        {
            Request();
        }

        // The role was released again, so check for callers that came meanwhile.
        SignalCallersIfFree();
    }

    /// <summary>Ends the connection. Holder only.</summary>
    private void End()
    {
        _role.End();
        try
        {
            _onClosed();
        }
        finally
        {
            _link.Leave();
        }
    }

    /// <summary>
    /// Runs on the watchdog's thread: after a while without activity, ensures that the loop reads or is woken.
    /// </summary>
    private WatchdogCheck OnWatchdogCheck()
    {
        long word = _role.Word;
        if (word != _lastRoleWord)
        {
            _lastRoleWord = word;
            _lastRoleWordAt = Stopwatch.GetTimestamp();
        }

        bool isQuiet = Stopwatch.GetElapsedTime(_lastRoleWordAt) >= s_quietTime;
        return isQuiet || _link.IsClosed ? StopWatching() : WatchdogCheck.Later;
    }

    private WatchdogCheck StopWatching()
    {
        // StoreLoad: the flag is cleared before the role is checked. A thread that leaves the ring unread after this
        // check sees the cleared flag and registers again.
        Interlocked.Exchange(ref _isWatched, 0);
        if (!HasBlockedCallers)
        {
            EnsureLoopReads();
        }

        return WatchdogCheck.Done;
    }
}
