using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// Who reads the ring, and who sleeps on it. A blocking caller takes the reader role and reads for itself, handing
/// others their answers by a signal; otherwise the connection's own thread, the standby, reads. ARCHITECTURE.md, "Who
/// reads", has the rules and what goes wrong without each of them. Nothing in here runs user code.
/// </summary>
internal sealed class ConnectionReader
{
    private const int StackBytes = 256 << 10;

    private readonly PeerLink _link;
    private readonly RingReader _ring;
    private readonly FrameReceiver _receiver;
    private readonly Func<bool> _isExpecting;
    private readonly Action _onClosed;
    private readonly Func<bool> _lookAsSentinel;
    private readonly ReaderRole _role = new();
    private readonly SpinBudget _standbySpin = new();
    private readonly SpinBudget _callerSpin = new();
    private readonly WakeLatch _standbyWanted = new();
    private readonly SleepingCallers _sleepingCallers = new();
    private volatile int _standby;      // a StandbyState
    private volatile int _blocked;      // callers that wait for the role or for their answer
    private volatile bool _isWatched;   // the sentinel will look
    private long _watchedGeneration;    // of the role, when the sentinel looked last

    /// <param name="link">The link that is read.</param>
    /// <param name="receiver">Takes the records.</param>
    /// <param name="isExpecting">True when frames may come that no blocking caller waits for.</param>
    /// <param name="onClosed">
    /// Runs once, on the standby's thread, when the link is closed and nobody reads any more.
    /// </param>
    public ConnectionReader(PeerLink link, FrameReceiver receiver, Func<bool> isExpecting, Action onClosed)
    {
        _link = link;
        _ring = link.Reader;
        _receiver = receiver;
        _isExpecting = isExpecting;
        _onClosed = onClosed;
        _lookAsSentinel = LookAsSentinel;
    }

    public void Start() => new Thread(RunStandby, StackBytes) { IsBackground = true, Name = "RpcOverShm reader" }.UnsafeStart();

    /// <summary>Makes everybody here look again: the link is closed, or its peer is gone.</summary>
    public void OnLinkEvent()
    {
        _standbyWanted.Signal();
        _sleepingCallers.SignalAll();
    }

    /// <summary>
    /// A caller is about to send and to block. It takes the role first if it can, so that the peer need not ring a
    /// standby for an answer that the caller reads itself; else the standby is made to give way.
    /// </summary>
    public CallerTurn Enter()
    {
        var turn = default(CallerTurn);
        if (!_link.IsClosed && _role.TryTake(out turn.Token))
        {
            turn.HasRole = true;
            _ring.Disarm();
        }
        else
        {
            turn.IsCounted = true;
            Interlocked.Increment(ref _blocked);
        }

        return turn;
    }

    /// <summary>Reads, or sleeps while another reads, until the call is done.</summary>
    public void WaitUntilDone(ConnectionCall call, ref CallerTurn turn)
    {
        while (!call.IsDone)
        {
            if (turn.HasRole)
            {
                ReadUntilDone(call);
                GiveUpRole(ref turn);
            }
            else if (!_link.IsClosed && _role.TryTake(out turn.Token))
            {
                turn.HasRole = true;
                _ring.Disarm();
            }
            else
            {
                WaitForSignal(call);
            }
        }
    }

    /// <summary>The caller's call is done or was never sent. Whoever is left must have a reader.</summary>
    public void Leave(ref CallerTurn turn)
    {
        if (turn.HasRole)
        {
            GiveUpRole(ref turn);
        }

        if (turn.IsCounted)
        {
            Interlocked.Decrement(ref _blocked);
        }

        LookForReader();
    }

    /// <summary>
    /// After the role was freed, or a call begun that nobody blocks for: sees to it that somebody reads, or is rung
    /// when something comes. Comes after a full fence: that of the role's release, or of what was counted.
    /// </summary>
    public void LookForReader()
    {
        if (_blocked > 0)
        {
            if (_role.IsFree)
            {
                _sleepingCallers.SignalAll();
            }
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

    private void GiveUpRole(ref CallerTurn turn)
    {
        turn.HasRole = false;
        _role.Release(turn.Token);
        if (_link.IsClosed)
        {
            // The standby may have found the role taken when the close woke it; it must have it once more.
            _standbyWanted.Signal();
        }
    }

    private void ReadUntilDone(ConnectionCall mine)
    {
        while (!mine.IsDone && !_link.IsClosed)
        {
            uint attention = _link.Attention;
            bool isPeerGone = _link.IsPeerGone;
            if (Receive(mine) || CloseIfPeerGone(isPeerGone) || _callerSpin.SpinUntil(new CallerCondition(_ring, mine)))
            {
                continue;
            }

            if (Arm(out long position) && !mine.IsDone && !_link.SleepForData(position, attention) && _ring.HasData)
            {
                _link.CountBackstopWithData();
            }

            _ring.Disarm();
        }
    }

    private void WaitForSignal(ConnectionCall call)
    {
        WakeLatch waiter = call.Waiter!;
        if (!_link.IsClosed && _callerSpin.SpinUntil(new SignalCondition(waiter, call, _role)))
        {
            waiter.Clear();
            return;
        }

        _sleepingCallers.Add(waiter);

        // Whoever freed the role before this thread was in the list did not signal it: so look once more. After a close
        // the free role is the standby's, and it signals every caller when their calls have ended.
        Interlocked.MemoryBarrier();
        if (!call.IsDone && (!_role.IsFree || _link.IsClosed))
        {
            waiter.Wait(WaitBounds.Backstop);
        }

        _sleepingCallers.Remove(waiter);
    }

    private void RunStandby()
    {
        while (true)
        {
            if (!_role.TryTake(out ReaderRole.Token token))
            {
                SleepUntilWanted();
            }
            else if (_link.IsClosed)
            {
                _role.Retire(token);
                break;
            }
            else
            {
                ReadAsStandby(token);
            }
        }

        _onClosed();
        _link.Leave();
    }

    /// <summary>Reads until there is nothing to read, then gives the role up and sleeps.</summary>
    private void ReadAsStandby(ReaderRole.Token token)
    {
        _ring.Disarm();
        while (!_link.IsClosed)
        {
            uint attention = _link.Attention;
            bool isPeerGone = _link.IsPeerGone;
            if (_blocked > 0)
            {
                HandOver(token);
                return;
            }

            if (Receive(null) || CloseIfPeerGone(isPeerGone) || _standbySpin.SpinUntil(new StandbyCondition(_ring, this)))
            {
                continue;
            }

            if (Arm(out long position))
            {
                SleepArmed(token, position, attention);
                return;
            }

            _ring.Disarm();
        }

        _role.Release(token);
    }

    private void SleepArmed(ReaderRole.Token token, long position, uint attention)
    {
        _standby = (int)StandbyState.Armed;
        _role.Release(token);
        if (_blocked > 0 && _role.IsFree)
        {
            _sleepingCallers.SignalAll();
        }

        // CRASH reader-armed: the peer rings a process that is gone, which harms nobody.
        CrashPoint.Reach(CrashPoint.ReaderArmed);
        bool isBackstop = !_link.SleepForData(position, attention);
        _standby = (int)StandbyState.Awake;
        if (isBackstop)
        {
            CheckBackstop(position);
        }
    }

    // A time-out that finds the ring as it was armed, but with data, is a ring that never came.
    private void CheckBackstop(long position)
    {
        if (_role.TryTake(out ReaderRole.Token token))
        {
            if (!_link.IsClosed && _ring.IsArmedAt(position) && _ring.HasData)
            {
                _link.CountBackstopWithData();
            }

            _role.Release(token);
        }
    }

    /// <summary>
    /// A caller wants to read for itself: the role goes to it, and the standby sleeps until it is wanted.
    /// </summary>
    private void HandOver(ReaderRole.Token token)
    {
        _standby = (int)StandbyState.OnLatch;
        _role.Release(token);
        LookForReader();
        _standbyWanted.Wait(WaitBounds.Backstop);
        _standby = (int)StandbyState.Awake;
    }

    private void SleepUntilWanted()
    {
        // The fence orders the announcement before the look at the role: whoever frees it sees the one or is seen.
        Interlocked.Exchange(ref _standby, (int)StandbyState.OnLatch);
        if (!_role.IsFree)
        {
            _standbyWanted.Wait(WaitBounds.Backstop);
        }

        _standby = (int)StandbyState.Awake;
    }

    /// <summary>Nobody reads and nobody is about to: has the standby read, or renews its request to be rung.</summary>
    private void AskForStandby()
    {
        if (!_role.IsFree)
        {
            return;
        }

        switch ((StandbyState)_standby)
        {
            case StandbyState.OnLatch:
                _standbyWanted.Signal();
                break;
            case StandbyState.Armed when !_ring.IsArmed:
                ArmForStandby();
                break;
            default:
                break;
        }
    }

    /// <summary>The standby sleeps on the tail, but a caller has read since and taken the request back.</summary>
    private void ArmForStandby()
    {
        if (!_role.TryTake(out ReaderRole.Token token))
        {
            return;
        }

        bool isArmed = _link.IsClosed || Arm(out _);
        bool mayWake = !isArmed && _link.TryEnter();
        _role.Release(token);
        if (mayWake)
        {
            _link.WakeOwnReaders();
            _link.Leave();
        }

        // The role was freed once more: look at whoever came meanwhile.
        if (_blocked > 0 && _role.IsFree)
        {
            _sleepingCallers.SignalAll();
        }

        if (_standby == (int)StandbyState.OnLatch || _link.IsClosed)
        {
            _standbyWanted.Signal();
        }
    }

    /// <summary>The sentinel's look: true while callers go on reading.</summary>
    private bool LookAsSentinel()
    {
        long generation = _role.Generation;
        if (generation != _watchedGeneration && !_link.IsClosed)
        {
            _watchedGeneration = generation;
            return true;
        }

        // First the flag, then the look, with a fence between: a caller that leaves later sees the flag and asks again.
        _isWatched = false;
        Interlocked.MemoryBarrier();
        if (_blocked == 0)
        {
            AskForStandby();
        }

        return false;
    }

    /// <summary>Publishes the exact head and asks to be rung. False when there is data already.</summary>
    private bool Arm(out long position)
    {
        if (_ring.PublishHead())
        {
            _link.WakePeerForSpace();
        }

        // CRASH head-published: the reader is gone and its head is exact; the peer's space waiter hears of the end.
        CrashPoint.Reach(CrashPoint.HeadPublished);
        position = _ring.Position;
        return _ring.Arm();
    }

    /// <summary>Takes records until there is none or the caller's call is done. True when there was one.</summary>
    private bool Receive(ConnectionCall? mine)
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
                if (_link.IsClosed || (mine is null && _blocked > 0))
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
            _link.Close(new CloseReason(cause, exception.Message, exception));
        }

        return isAny;
    }

    /// <summary>What the peer wrote before its end was read: now the link may close.</summary>
    /// <param name="isPeerGone">As it was before the last look at the ring.</param>
    private bool CloseIfPeerGone(bool isPeerGone)
    {
        if (isPeerGone)
        {
            _link.CloseAfterPeer();
        }

        return isPeerGone;
    }

    private readonly struct CallerCondition(RingReader ring, ConnectionCall call) : ISpinCondition
    {
        public bool IsMet => ring.HasData || call.IsDone;
    }

    private readonly struct SignalCondition(WakeLatch waiter, ConnectionCall call, ReaderRole role) : ISpinCondition
    {
        public bool IsMet => call.IsDone || waiter.IsSignalled || role.IsFree;
    }

    private readonly struct StandbyCondition(RingReader ring, ConnectionReader reader) : ISpinCondition
    {
        public bool IsMet => ring.HasData || reader._blocked > 0 || reader._link.IsClosed;
    }
}
