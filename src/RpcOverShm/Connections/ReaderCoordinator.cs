using System.Diagnostics;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;

namespace RpcOverShm.Connections;

/// <summary>
/// The state and the steps that the reading threads of one connection share: the reader role, its waiters, and the
/// sleep of the standby reader. The rules, and the failure that each prevents, are in ARCHITECTURE.md, "Who reads".
/// Members marked "holder only" are for the thread that holds the role; all others are thread-safe.
/// </summary>
internal sealed class ReaderCoordinator
{
    // The limit of threads stuck in user code that has lost the role. At the limit, user code runs on the thread pool.
    private const int MostStuckThreads = 2;
    private const int MostStuckThreadsInline = 8;

    // The time without activity after which the watchdog stops checking.
    private static readonly TimeSpan s_quietTime = TimeSpan.FromMilliseconds(20);

    private readonly FrameReceiver _receiver;
    private readonly FrameSender _sender;
    private readonly SchedulingMode _mode;
    private readonly Func<WatchdogCheck> _watchdogCheck;
    private volatile int _blocked;      // callers that wait for the role or for their response
    private volatile int _standby;      // a StandbyState
    private volatile int _isSilent;     // 1 while the standby uses the long timeout of an idle connection
    private volatile int _isWatched;    // 1 while the watchdog checks this connection
    private volatile int _stuck;        // threads in user code that has lost the role
    private long _takeOvers;            // roles taken over from user code
    private InlineBudget? _running;     // of the running inline user code; read at a take-over
    private InlineThread? _runner;      // the thread that runs it; read by the watchdog
    private long _seenWord;             // the role's word at the watchdog's last check
    private long _seenAt;               // when the watchdog first saw that word
    private UserCodeCheck _userCode;    // for the watchdog

    public ReaderCoordinator(
        PeerLink link, ReaderRole role, FrameReceiver receiver, FrameSender sender, SchedulingMode mode)
    {
        Link = link;
        Role = role;
        Ring = link.Reader;
        _receiver = receiver;
        _sender = sender;
        _mode = mode;
        _watchdogCheck = CheckAsWatchdog;
    }

    public PeerLink Link { get; }

    public RingReader Ring { get; }

    public ReaderRole Role { get; }

    /// <summary>The latch on which the standby reader sleeps while another thread reads.</summary>
    public AutoResetLatch StandbyRequested { get; } = new();

    /// <summary>The blocking callers that sleep while another thread reads.</summary>
    public SleepingCallers SleepingCallers { get; } = new();

    /// <summary>Brings a thread to take the standby reader's place; set by <see cref="StandbyReader"/>.</summary>
    public Action? BringSpare { get; set; }

    /// <summary>The number of times that the role was taken over from slow user code.</summary>
    public long TakeOvers => Interlocked.Read(ref _takeOvers);

    /// <summary>The state of the standby reader's sleep. Only the standby reader writes it.</summary>
    public StandbyState Standby
    {
        get => (StandbyState)_standby;
        set => _standby = (int)value;
    }

    /// <summary>Whether callers wait for the role or for their response.</summary>
    public bool HasBlockedCallers => _blocked > 0;

    /// <summary>
    /// Whether the standby reader's sleep, begun or imminent, has the longer timeout of an idle connection.
    /// </summary>
    public bool IsSilent
    {
        get => _isSilent != 0;
        set => _isSilent = value ? 1 : 0;
    }

    /// <summary>Sets <see cref="IsSilent"/> with a full fence, before the standby reader checks for calls.</summary>
    public void AnnounceSilence() => Interlocked.Exchange(ref _isSilent, 1);

    /// <summary>Whether any outgoing or incoming call is live.</summary>
    public bool HasCalls => _sender.Outgoing.Living.Count > 0 || _sender.Incoming.Living.Count > 0;

    // The side that accepted the link must see every frame. The other may stop reading while it has no outgoing calls.
    private bool IsExpecting => Link.IsAcceptor || _sender.Outgoing.Living.Count > 0;

    /// <summary>Sets <see cref="Standby"/> with a full fence, before the standby reader checks the role.</summary>
    public void AnnounceStandby(StandbyState state) => Interlocked.Exchange(ref _standby, (int)state);

    public void CountBlocked() => Interlocked.Increment(ref _blocked);

    public void UncountBlocked() => Interlocked.Decrement(ref _blocked);

    /// <summary>
    /// Ensures that a thread reads, or will be woken when data comes. Must follow every release of the role, and every
    /// start of a call for which no caller blocks. The caller must have executed a full fence: releasing the role is
    /// one.
    /// </summary>
    public void FindReader()
    {
        if (HasBlockedCallers)
        {
            SignalCallersIfFree();
        }
        else if (IsExpecting)
        {
            AskForStandby();
        }
        else
        {
            EnsureWatched();
        }
    }

    /// <summary>
    /// Ensures that the watchdog checks this connection. The caller must have executed a full fence. If the system has
    /// no thread for the watchdog, the next call tries again.
    /// </summary>
    public void EnsureWatched()
    {
        if (_isWatched == 0 && Interlocked.Exchange(ref _isWatched, 1) == 0 && !Watchdog.Watch(_watchdogCheck))
        {
            _isWatched = 0;
        }
    }

    /// <summary>Returns whether user code of this kind runs inline.</summary>
    public bool IsInline(InlineBudget budget) => _mode switch
    {
        SchedulingMode.Inline => _stuck < MostStuckThreadsInline,
        SchedulingMode.Adaptive => _stuck < MostStuckThreads && budget.IsInline,
        _ => false,
    };

    /// <summary>Notes the kind of user code that is about to run inline, and its thread. Holder only.</summary>
    public void SetRunning(InlineBudget budget, InlineThread thread)
    {
        _running = budget;
        _runner = thread;
    }

    /// <summary>Whether frames are written whose publish was deferred. A hint.</summary>
    public bool HasDeferred => _sender.HasDeferred;

    /// <summary>Counts a thread that is back from user code that had lost the role.</summary>
    public void OnReturned() => Interlocked.Decrement(ref _stuck);

    /// <summary>Publishes frames whose publish was deferred while more records were being read.</summary>
    public void FlushDeferred() => _sender.FlushDeferred();

    /// <summary>Signals a sleeping caller to take the role, if the role is free.</summary>
    public void SignalCallersIfFree()
    {
        if (HasBlockedCallers && Role.IsFree)
        {
            SleepingCallers.SignalOne();
        }
    }

    /// <summary>
    /// Publishes the exact head and arms the ring. Returns false if there is data already. Holder only.
    /// </summary>
    public bool Arm(out long position)
    {
        if (Ring.PublishHead())
        {
            Link.WakePeerForSpace();
        }

        // CRASH head-published: the head is exact, but the reader has died. The socket's end wakes the space waiter.
        CrashPoint.Reach(CrashPoint.HeadPublished);
        position = Ring.Position;
        return Ring.Arm();
    }

    /// <summary>Receives the next record. An invalid record closes the link. Holder only.</summary>
    /// <returns>False if there was no record, or an invalid one.</returns>
    public bool TryReceive(out ConnectionCall? call)
    {
        try
        {
            return _receiver.TryReceive(out call);
        }
        catch (Exception exception)
        {
            CloseKind cause = exception is ProtocolException or RingCorruptedException
                ? CloseKind.PeerViolation
                : CloseKind.InternalError;
            Link.Close(new CloseReason(cause, exception.Message, exception));
            call = null;
            return false;
        }
    }

    /// <summary>Closes the link if the peer was gone before the last check of the ring. Holder only.</summary>
    public bool CloseIfPeerGone(bool isPeerGone)
    {
        if (isPeerGone)
        {
            Link.CloseAfterPeer();
        }

        return isPeerGone;
    }

    /// <summary>
    /// Wakes the standby reader from its latch or renews its request to be woken, if the role is free.
    /// </summary>
    private void AskForStandby()
    {
        if (!Role.IsFree)
        {
            return;
        }

        switch (Standby)
        {
            case StandbyState.OnLatch:
                StandbyRequested.Signal();
                break;
            case StandbyState.Armed:
                if (!Ring.IsArmed)
                {
                    ArmForStandby();
                }

                if (IsSilent && HasCalls)
                {
                    // A call has started, so the standby reader must check its peer as often as calls require.
                    Link.RaiseLocalEvent();
                }

                break;
            default:
                break;
        }
    }

    /// <summary>Arms again for a standby reader that sleeps on the tail, after a caller has disarmed.</summary>
    private void ArmForStandby()
    {
        if (!Role.TryTake(out ReaderRole.Token token))
        {
            return;
        }

        bool isArmed = Link.IsClosed || Arm(out _);
        bool mayWake = !isArmed && Link.TryEnter();
        Role.Release(token);
        if (mayWake)
        {
            Link.WakeOwnReaders();
            Link.Leave();
        }

        // The role was released again, so check for threads that came meanwhile.
        SignalCallersIfFree();
        if (Standby == StandbyState.OnLatch || Link.IsClosed)
        {
            StandbyRequested.Signal();
        }
    }

    /// <summary>
    /// Runs on the watchdog's thread. Takes the role over from user code that has kept it since the last check. After
    /// a while without activity, ensures that the standby reader reads or will be woken.
    /// </summary>
    private WatchdogCheck CheckAsWatchdog()
    {
        long word = Role.Word;
        if (ReaderRole.IsInUserCode(word))
        {
            if (_userCode.IsKept(word, _runner!))
            {
                TakeOver(word);
            }

            _seenWord = word;
            return WatchdogCheck.Soon;
        }

        if (word != _seenWord)
        {
            _seenWord = word;
            _seenAt = Stopwatch.GetTimestamp();
        }

        bool isQuiet = Stopwatch.GetElapsedTime(_seenAt) >= s_quietTime;
        return isQuiet || Link.IsClosed ? StopWatching() : WatchdogCheck.Later;
    }

    private WatchdogCheck StopWatching()
    {
        // StoreLoad: the flag is cleared before the role is checked. A thread that enters user code or leaves the ring
        // unread after this check sees the cleared flag and registers again.
        Interlocked.Exchange(ref _isWatched, 0);
        if (ReaderRole.IsInUserCode(Role.Word) && Interlocked.Exchange(ref _isWatched, 1) == 0)
        {
            return WatchdogCheck.Soon;
        }

        if (!HasBlockedCallers)
        {
            AskForStandby();
        }

        return WatchdogCheck.Done;
    }

    private void TakeOver(long word)
    {
        // Counted first, because the thread that has lost the role counts itself back when it returns.
        Interlocked.Increment(ref _stuck);
        if (!Role.TryTakeOver(word))
        {
            Interlocked.Decrement(ref _stuck);
            return;
        }

        Interlocked.Increment(ref _takeOvers);
        _running?.RecordTakeOver();

        // A caller that waits for the role can read at once; a spare may have to be born first.
        SignalCallersIfFree();
        BringSpare!();
    }
}

/// <summary>The state of the standby reader's sleep, for threads that may have to wake it.</summary>
internal enum StandbyState
{
    /// <summary>Running; it checks the ring and the role itself before it sleeps.</summary>
    Awake = 0,

    /// <summary>Asleep on the peer's tail, armed.</summary>
    Armed = 1,

    /// <summary>Asleep on its own latch, because another thread reads.</summary>
    OnLatch = 2,
}
