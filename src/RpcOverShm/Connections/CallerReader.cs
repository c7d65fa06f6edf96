using RpcOverShm.Links;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Segments;
using RpcOverShm.Sending;

namespace RpcOverShm.Connections;

/// <summary>
/// How a thread that blocks for its call comes to its answer: it takes the reader role and reads for itself, or sleeps
/// while another thread reads for it. A thread that blocks in user code which runs inline on this very connection takes
/// the role back for as long. What is due to others is queued: their code could keep this thread from its own answer.
/// Holds nothing of a caller; any number of threads may be in here.
/// </summary>
internal sealed class CallerReader(ReaderCoordinator coordinator)
{
    private readonly PeerLink _link = coordinator.Link;
    private readonly RingReader _ring = coordinator.Ring;
    private readonly ReaderRole _role = coordinator.Role;
    private readonly SpinBudget _spin = new();

    /// <summary>
    /// A caller is about to send and to block. It takes the role first if it can, so that the peer need not ring a
    /// standby for an answer that the caller reads itself; else the standby is made to give way.
    /// </summary>
    /// <exception cref="InvalidOperationException">
    /// This thread is parsing a message in place, and so keeps the connection's reader role.
    /// </exception>
    public CallerLease Enter()
    {
        if (RecordMemory.IsShownToThisThread)
        {
            throw new InvalidOperationException(
                "A marshaller cannot make a blocking call while it parses in place: nobody would read the answer.");
        }

        var turn = default(CallerLease);
        if (InlineThread.Current is { IsInUserCode: true } me && me.Role == _role && _role.TryReturn(ref me.Token))
        {
            turn.Nested = me;
            turn.Token = me.Token;
            turn.HasRole = true;
            _ring.Disarm();
            coordinator.FlushDeferred();
        }
        else if (!TryTakeRole(ref turn))
        {
            turn.IsCounted = true;
            coordinator.CountBlocked();
        }

        return turn;
    }

    /// <summary>Reads, or sleeps while another reads, until the call is done.</summary>
    public void WaitUntilDone(ConnectionCall call, ref CallerLease turn)
    {
        while (!call.IsDone)
        {
            if (turn.HasRole)
            {
                ReadUntilDone(call);
                GiveUpRole(ref turn);
            }
            else if (!TryTakeRole(ref turn))
            {
                WaitForSignal(call);
            }
        }
    }

    /// <summary>The caller's call is done or was never sent. Whoever is left must have a reader.</summary>
    public void Leave(ref CallerLease turn)
    {
        if (turn.HasRole)
        {
            GiveUpRole(ref turn);
        }

        if (turn.IsCounted)
        {
            coordinator.UncountBlocked();
        }

        if (turn.Nested is null)
        {
            coordinator.LookForReader();
        }
    }

    private bool TryTakeRole(ref CallerLease turn)
    {
        // After a close the free role is the standby's, which ends the connection with it.
        if (_link.IsClosed || !_role.TryTake(out turn.Token))
        {
            return false;
        }

        turn.HasRole = true;
        _ring.Disarm();

        // User code that has lost the role may be waiting for the answer to what it wrote and did not publish.
        coordinator.FlushDeferred();
        return true;
    }

    private void GiveUpRole(ref CallerLease turn)
    {
        turn.HasRole = false;
        if (turn.Nested is { } me)
        {
            // Back to the user code that made the call, which holds the role as it did before, and is looked after
            // anew.
            me.Token = turn.Token;
            _role.EnterUserCode(ref me.Token);
            coordinator.EnsureWatched();
            turn.Nested = null;
            turn.IsCounted = false;
            return;
        }

        _role.Release(turn.Token);
        if (_link.IsClosed)
        {
            // The standby may have found the role taken when the close woke it; it must have it once more.
            coordinator.StandbyRequested.Signal();
        }
    }

    private void ReadUntilDone(ConnectionCall mine)
    {
        while (!mine.IsDone && !_link.IsClosed)
        {
            uint localEvents = _link.LocalEvents;
            bool isPeerGone = _link.IsPeerGone;
            long since = 0;
            if (Receive(mine)
                || coordinator.CloseIfPeerGone(isPeerGone)
                || _spin.SpinUntil(new DataCondition(_ring, mine), out since))
            {
                continue;
            }

            if (coordinator.Arm(out long position) && !mine.IsDone)
            {
                if (!_link.SleepForData(position, localEvents))
                {
                    _link.OnSafetyTimeout(isLostWakeup: _ring.HasData && !_link.WaitForLateWake(localEvents));
                }
                else if (_ring.HasData)
                {
                    _spin.RecordSleep(since);
                }
            }

            _ring.Disarm();
        }
    }

    /// <summary>Takes records until there is none or the caller's call is done. True when there was one.</summary>
    private bool Receive(ConnectionCall mine)
    {
        bool isAny = false;
        while (!mine.IsDone && coordinator.TryReceive(out ConnectionCall? call))
        {
            isAny = true;
            if (call is not null && call != mine)
            {
                Notify(call);
            }

            // A peer that never stops must not keep this thread from a close.
            if (_link.IsClosed)
            {
                break;
            }
        }

        return isAny;
    }

    private static void Notify(ConnectionCall call)
    {
        if (call.HasUserCode)
        {
            call.MessagesDue = 0;
            call.QueueUserCode();
        }
        else if (call.IsDone)
        {
            call.Waiter?.Signal();
        }
    }

    private void WaitForSignal(ConnectionCall call)
    {
        AutoResetLatch waiter = call.Waiter!;
        if (!_link.IsClosed && _spin.SpinUntil(new SignalCondition(waiter, call, _role)))
        {
            waiter.Clear();
            return;
        }

        coordinator.SleepingCallers.Add(waiter);
        try
        {
            // Whoever freed the role before this thread was in the list did not signal it: so look once more. After a
            // close the free role is the standby's, and it signals every caller when their calls have ended.
            Interlocked.MemoryBarrier();
            if (!call.IsDone && (!_role.IsFree || _link.IsClosed))
            {
                waiter.Wait(WaitBounds.SafetyTimeout);
            }
        }
        finally
        {
            // Also when the thread is interrupted: it would be signalled in place of one that sleeps.
            coordinator.SleepingCallers.Remove(waiter);
        }
    }

    private readonly struct DataCondition(RingReader ring, ConnectionCall call) : ISpinCondition
    {
        public bool IsMet => ring.HasData || call.IsDone;
    }

    private readonly struct SignalCondition(AutoResetLatch waiter, ConnectionCall call, ReaderRole role)
        : ISpinCondition
    {
        public bool IsMet => call.IsDone || waiter.IsSignalled || role.IsFree;
    }
}

/// <summary>
/// What a blocking caller holds from before it sends until it leaves: the reader role, or a place among the callers
/// that wait for it, or nothing any more.
/// </summary>
internal struct CallerLease
{
    public ReaderRole.Token Token;

    /// <summary>
    /// The thread's own record, where it blocks in user code that runs inline and has taken the role back.
    /// </summary>
    public InlineThread? Nested;

    public bool HasRole;
    public bool IsCounted;
}
