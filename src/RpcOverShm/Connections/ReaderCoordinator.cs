using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;

namespace RpcOverShm.Connections;

/// <summary>
/// What the threads that read one connection share: the reader role, who waits for it and how the standby sleeps, and
/// the steps that all of them take. ARCHITECTURE.md, "Who reads", has the rules and what goes wrong without each of
/// them. Members under "by the holder" are called by the thread that holds the role; the others by any.
/// </summary>
internal sealed class ReaderCoordinator
{
    // With so many threads kept by user code, what comes next goes to the thread pool.
    private const int MostStuckThreads = 2;
    private const int MostStuckThreadsInline = 8;

    // Looks of the sentinel without anything happening before it turns away.
    private const int QuietChecks = 4;

    private readonly FrameReceiver _receiver;
    private readonly FrameSender _sender;
    private readonly SchedulingMode _mode;
    private readonly Func<WatchdogCheck> _watchdogCheck;
    private volatile int _blocked;      // callers that wait for the role or for their answer
    private volatile int _standby;      // a StandbyState
    private volatile int _isSilent;     // 1 while the standby sleeps for longer than calls may wait
    private volatile int _isWatched;    // 1 when the sentinel will look
    private volatile int _stuck;        // threads whose user code has lost the role and not returned
    private long _takeOvers;              // roles taken from user code
    private InlineBudget? _running;     // of the user code that runs inline, for whoever takes the role from it
    private long _seenWord;             // of the role, at the sentinel's last look
    private int _quietChecks;            // of the sentinel, since something happened

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

    /// <summary>What the standby sleeps on while somebody else reads.</summary>
    public AutoResetLatch StandbyRequested { get; } = new();

    /// <summary>The blocking callers that sleep while somebody else reads.</summary>
    public SleepingCallers SleepingCallers { get; } = new();

    /// <summary>Starts, or wakes, a thread that takes the standby's place; set by the standby's maker.</summary>
    public Action? BringSpare { get; set; }

    /// <summary>How often the role was taken from user code that kept it.</summary>
    public long TakeOvers => Interlocked.Read(ref _takeOvers);

    /// <summary>How the standby sleeps; written by it alone.</summary>
    public StandbyState Standby
    {
        get => (StandbyState)_standby;
        set => _standby = (int)value;
    }

    /// <summary>True while callers wait for the role or for their answer.</summary>
    public bool HasBlockedCallers => _blocked > 0;

    /// <summary>True while the standby sleeps, or is about to, for longer than it may while calls live.</summary>
    public bool IsSilent
    {
        get => _isSilent != 0;
        set => _isSilent = value ? 1 : 0;
    }

    /// <summary>The same, before a look at the calls: a full fence.</summary>
    public void AnnounceSilence() => Interlocked.Exchange(ref _isSilent, 1);

    /// <summary>True while calls of either side live.</summary>
    public bool HasCalls => _sender.Outgoing.Living.Count > 0 || _sender.Incoming.Living.Count > 0;

    // The side that is called must hear every frame; the other may leave the ring alone while it expects nothing.
    private bool IsExpecting => Link.IsAcceptor || _sender.Outgoing.Living.Count > 0;

    /// <summary>Announces how the standby sleeps, before a look at the role: a full fence.</summary>
    public void AnnounceStandby(StandbyState state) => Interlocked.Exchange(ref _standby, (int)state);

    public void CountBlocked() => Interlocked.Increment(ref _blocked);

    public void UncountBlocked() => Interlocked.Decrement(ref _blocked);

    /// <summary>
    /// After the role was freed, or a call begun that nobody blocks for: sees to it that somebody reads, or is rung
    /// when something comes. Comes after a full fence: that of the role's release, or of what was counted.
    /// </summary>
    public void LookForReader()
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

    /// <summary>Sees to it that the sentinel looks. Comes after a full fence.</summary>
    public void EnsureWatched()
    {
        // Once: a look that comes twice in a row would see every word twice.
        if (_isWatched == 0 && Interlocked.Exchange(ref _isWatched, 1) == 0)
        {
            Watchdog.Watch(_watchdogCheck);
        }
    }

    /// <summary>Whether user code of this kind runs on the thread that reads.</summary>
    public bool IsInline(InlineBudget budget) => _mode switch
    {
        SchedulingMode.Inline => _stuck < MostStuckThreadsInline,
        SchedulingMode.Adaptive => _stuck < MostStuckThreads && budget.IsInline,
        _ => false,
    };

    /// <summary>By the holder: user code of this kind is about to run inline.</summary>
    public void SetRunning(InlineBudget budget) => _running = budget;

    /// <summary>A thread is back from user code that had lost the role.</summary>
    public void OnReturned() => Interlocked.Decrement(ref _stuck);

    /// <summary>Publishes what was written and held back while more was being read.</summary>
    public void FlushDeferred() => _sender.FlushDeferred();

    /// <summary>A caller that sleeps is to take the role itself, if it is free.</summary>
    public void SignalCallersIfFree()
    {
        if (HasBlockedCallers && Role.IsFree)
        {
            SleepingCallers.SignalOne();
        }
    }

    /// <summary>
    /// By the holder: publishes the exact head and asks to be rung. False when there is data already.
    /// </summary>
    public bool Arm(out long position)
    {
        if (Ring.PublishHead())
        {
            Link.WakePeerForSpace();
        }

        // CRASH head-published: the reader is gone and its head is exact; the peer's space waiter hears of the end.
        CrashPoint.Reach(CrashPoint.HeadPublished);
        position = Ring.Position;
        return Ring.Arm();
    }

    /// <summary>By the holder: takes the next record. What is wrong with it closes the link.</summary>
    /// <param name="call">The call that it was for; null for none or one that has ended.</param>
    /// <returns>False when there is none.</returns>
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

    /// <summary>By the holder: what the peer wrote before its end was read, so that the link may close.</summary>
    /// <param name="isPeerGone">As it was before the last look at the ring.</param>
    public bool CloseIfPeerGone(bool isPeerGone)
    {
        if (isPeerGone)
        {
            Link.CloseAfterPeer();
        }

        return isPeerGone;
    }

    /// <summary>Nobody reads and nobody is about to: has the standby read, or renews its request to be rung.</summary>
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
                    // A call has begun: the standby is to look after its peer as often as it does while calls live.
                    Link.RaiseLocalEvent();
                }

                break;
            default:
                break;
        }
    }

    /// <summary>The standby sleeps on the tail, but a caller has read since and taken the request back.</summary>
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

        // The role was freed once more: look at whoever came meanwhile.
        SignalCallersIfFree();
        if (Standby == StandbyState.OnLatch || Link.IsClosed)
        {
            StandbyRequested.Signal();
        }
    }

    /// <summary>
    /// The sentinel's look: takes the role from user code that has kept it since the last look, and when nothing has
    /// happened for a while sees to it that somebody is rung.
    /// </summary>
    private WatchdogCheck CheckAsWatchdog()
    {
        long word = Role.Word;
        bool isInUserCode = ReaderRole.IsInUserCode(word);
        if (isInUserCode && word == _seenWord)
        {
            Rescue(word);
        }

        _quietChecks = word == _seenWord ? _quietChecks + 1 : 0;
        _seenWord = word;
        if (isInUserCode)
        {
            return WatchdogCheck.Soon;
        }

        return _quietChecks < QuietChecks && !Link.IsClosed ? WatchdogCheck.Later : TurnAway();
    }

    private WatchdogCheck TurnAway()
    {
        // First the flag, then the look, with a fence between: whoever does something later sees the flag and asks
        // again.
        _quietChecks = 0;
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

    private void Rescue(long word)
    {
        // Counted first: the thread that has lost the role counts itself back when it returns.
        Interlocked.Increment(ref _stuck);
        if (!Role.TryTakeOver(word))
        {
            Interlocked.Decrement(ref _stuck);
            return;
        }

        Interlocked.Increment(ref _takeOvers);
        _running?.RecordTakeOver();
        BringSpare!();
    }
}

/// <summary>How a connection's own reader thread sleeps, for those who may have to wake it.</summary>
internal enum StandbyState
{
    /// <summary>It runs, and will look for itself before it sleeps.</summary>
    Awake = 0,

    /// <summary>It sleeps on the peer's tail, having asked to be rung.</summary>
    Armed = 1,

    /// <summary>It sleeps on its own latch, because somebody else reads.</summary>
    OnLatch = 2,
}
