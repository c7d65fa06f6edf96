using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// What the threads that read one connection share: the reader role, who waits for it and how the standby sleeps, and
/// the steps that all of them take. ARCHITECTURE.md, "Who reads", has the rules and what goes wrong without each of
/// them. Members under "by the holder" are called by the thread that holds the role; the others by any.
/// </summary>
internal sealed class ReaderDesk
{
    private readonly FrameReceiver _receiver;
    private readonly Func<bool> _isExpecting;
    private readonly Func<bool> _lookAsSentinel;
    private volatile int _blocked;      // callers that wait for the role or for their answer
    private volatile int _standby;      // a StandbyState
    private volatile bool _isWatched;   // the sentinel will look
    private long _watchedGeneration;    // of the role, when the sentinel looked last

    public ReaderDesk(PeerLink link, FrameReceiver receiver, Func<bool> isExpecting)
    {
        Link = link;
        Ring = link.Reader;
        _receiver = receiver;
        _isExpecting = isExpecting;
        _lookAsSentinel = LookAsSentinel;
    }

    public PeerLink Link { get; }

    public RingReader Ring { get; }

    public ReaderRole Role { get; } = new();

    /// <summary>What the standby sleeps on while somebody else reads.</summary>
    public WakeLatch StandbyWanted { get; } = new();

    /// <summary>The blocking callers that sleep while somebody else reads.</summary>
    public SleepingCallers SleepingCallers { get; } = new();

    /// <summary>How the standby sleeps; written by it alone.</summary>
    public StandbyState Standby
    {
        get => (StandbyState)_standby;
        set => _standby = (int)value;
    }

    /// <summary>True while callers wait for the role or for their answer.</summary>
    public bool HasBlockedCallers => _blocked > 0;

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
        else if (_isExpecting())
        {
            AskForStandby();
        }
        else if (!_isWatched)
        {
            _isWatched = true;
            Sentinel.Watch(_lookAsSentinel);
        }
    }

    /// <summary>Callers that sleep are to look at the role themselves, if it is free.</summary>
    public void SignalCallersIfFree()
    {
        if (HasBlockedCallers && Role.IsFree)
        {
            SleepingCallers.SignalAll();
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

    /// <summary>
    /// By the holder: takes records until there is none, or the caller's call is done, or the standby should give way.
    /// </summary>
    /// <param name="mine">The call of the caller that reads; null for the standby.</param>
    /// <returns>True when there was a record.</returns>
    public bool Receive(ConnectionCall? mine)
    {
        bool isAny = false;
        try
        {
            while (mine is not { IsDone: true } && _receiver.TryReceive(out ConnectionCall? call))
            {
                isAny = true;
                if (call is { IsDone: true, Waiter: { } waiter } && call != mine)
                {
                    waiter.Signal();
                }

                // A peer that never stops must not keep this thread from a close.
                if (Link.IsClosed || (mine is null && HasBlockedCallers))
                {
                    break;
                }
            }
        }
        catch (Exception exception)
        {
            CloseCause cause = exception is ProtocolException or RingCorruptedException
                ? CloseCause.PeerViolation
                : CloseCause.InternalError;
            Link.Close(new CloseReason(cause, exception.Message, exception));
        }

        return isAny;
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
                StandbyWanted.Signal();
                break;
            case StandbyState.Armed when !Ring.IsArmed:
                ArmForStandby();
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
            StandbyWanted.Signal();
        }
    }

    /// <summary>The sentinel's look: true while callers go on reading.</summary>
    private bool LookAsSentinel()
    {
        long generation = Role.Generation;
        if (generation != _watchedGeneration && !Link.IsClosed)
        {
            _watchedGeneration = generation;
            return true;
        }

        // First the flag, then the look, with a fence between: a caller that leaves later sees the flag and asks again.
        _isWatched = false;
        Interlocked.MemoryBarrier();
        if (!HasBlockedCallers)
        {
            AskForStandby();
        }

        return false;
    }
}
