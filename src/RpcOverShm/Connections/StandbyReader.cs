using RpcOverShm.Diagnostics;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// A connection's own thread: reads while no caller reads for itself, sleeps armed or on its latch otherwise, and ends
/// the reading side when the link is closed.
/// </summary>
/// <param name="desk">What the reading threads share.</param>
/// <param name="onClosed">Runs once, on this thread, when the link is closed and nobody reads any more.</param>
internal sealed class StandbyReader(ReaderDesk desk, Action onClosed)
{
    private const int StackBytes = 256 << 10;

    private readonly PeerLink _link = desk.Link;
    private readonly RingReader _ring = desk.Ring;
    private readonly ReaderRole _role = desk.Role;
    private readonly SpinBudget _spin = new();

    public void Start() =>
        new Thread(Run, StackBytes) { IsBackground = true, Name = "RpcOverShm reader" }.UnsafeStart();

    private void Run()
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
                Read(token);
            }
        }

        onClosed();
        _link.Leave();
    }

    /// <summary>Reads until there is nothing to read, then gives the role up and sleeps.</summary>
    private void Read(ReaderRole.Token token)
    {
        _ring.Disarm();
        while (!_link.IsClosed)
        {
            uint attention = _link.Attention;
            bool isPeerGone = _link.IsPeerGone;
            if (desk.HasBlockedCallers)
            {
                HandOver(token);
                return;
            }

            if (desk.Receive(null)
                || desk.CloseIfPeerGone(isPeerGone)
                || _spin.SpinUntil(new Condition(_ring, desk)))
            {
                continue;
            }

            if (desk.Arm(out long position))
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
        desk.Standby = StandbyState.Armed;
        _role.Release(token);
        desk.SignalCallersIfFree();

        // CRASH reader-armed: the peer rings a process that is gone, which harms nobody.
        CrashPoint.Reach(CrashPoint.ReaderArmed);
        bool isBackstop = !_link.SleepForData(position, attention);
        desk.Standby = StandbyState.Awake;
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
            _link.OnBackstop(!_link.IsClosed && _ring.IsArmedAt(position) && _ring.HasData);
            _role.Release(token);
        }
    }

    /// <summary>
    /// A caller wants to read for itself: the role goes to it, and the standby sleeps until it is wanted.
    /// </summary>
    private void HandOver(ReaderRole.Token token)
    {
        desk.Standby = StandbyState.OnLatch;
        _role.Release(token);
        desk.LookForReader();
        desk.StandbyWanted.Wait(WaitBounds.Backstop);
        desk.Standby = StandbyState.Awake;
    }

    private void SleepUntilWanted()
    {
        // The fence orders the announcement before the look at the role: whoever frees it sees the one or is seen.
        desk.AnnounceStandby(StandbyState.OnLatch);
        if (!_role.IsFree)
        {
            desk.StandbyWanted.Wait(WaitBounds.Backstop);
        }

        desk.Standby = StandbyState.Awake;
    }

    private readonly struct Condition(RingReader ring, ReaderDesk desk) : ISpinCondition
    {
        public bool IsMet => ring.HasData || desk.HasBlockedCallers || desk.Link.IsClosed;
    }
}
