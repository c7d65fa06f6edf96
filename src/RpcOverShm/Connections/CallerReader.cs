using RpcOverShm.Rings;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// How a thread that blocks for its call comes to its answer: it takes the reader role and reads for itself, or sleeps
/// while another thread reads for it. A thread that blocks in user code which runs inline on this very connection takes
/// the role back for as long. What is due to others is queued: their code could keep this thread from its own answer.
/// Holds nothing of a caller; any number of threads may be in here.
/// </summary>
internal sealed class CallerReader(ReaderDesk desk)
{
    private readonly PeerLink _link = desk.Link;
    private readonly RingReader _ring = desk.Ring;
    private readonly ReaderRole _role = desk.Role;
    private readonly SpinBudget _spin = new();

    /// <summary>
    /// A caller is about to send and to block. It takes the role first if it can, so that the peer need not ring a
    /// standby for an answer that the caller reads itself; else the standby is made to give way.
    /// </summary>
    /// <exception cref="InvalidOperationException">
    /// This thread is parsing a message in place, and so keeps the connection's reader role.
    /// </exception>
    public CallerTurn Enter()
    {
        if (!Connection.MayBlockHere)
        {
            throw new InvalidOperationException(
                "A marshaller cannot make a blocking call while it parses in place: nobody would read the answer.");
        }

        var turn = default(CallerTurn);
        if (InlineThread.Current is { IsInUserCode: true } me && me.Desk == desk && _role.TryReturn(ref me.Token))
        {
            turn.Nested = me;
            turn.Token = me.Token;
            turn.HasRole = true;
            _ring.Disarm();
            desk.FlushHeld();
        }
        else if (!TryTakeRole(ref turn))
        {
            turn.IsCounted = true;
            desk.CountBlocked();
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
            else if (!TryTakeRole(ref turn))
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
            desk.UncountBlocked();
        }

        if (turn.Nested is null)
        {
            desk.LookForReader();
        }
    }

    private bool TryTakeRole(ref CallerTurn turn)
    {
        // After a close the free role is the standby's, which ends the connection with it.
        if (_link.IsClosed || !_role.TryTake(out turn.Token))
        {
            return false;
        }

        turn.HasRole = true;
        _ring.Disarm();

        // User code that has lost the role may be waiting for the answer to what it wrote and did not publish.
        desk.FlushHeld();
        return true;
    }

    private void GiveUpRole(ref CallerTurn turn)
    {
        turn.HasRole = false;
        if (turn.Nested is { } me)
        {
            // Back to the user code that made the call, which holds the role as it did before, and is looked after
            // anew.
            me.Token = turn.Token;
            _role.EnterUserCode(ref me.Token);
            desk.EnsureWatched();
            turn.Nested = null;
            turn.IsCounted = false;
            return;
        }

        _role.Release(turn.Token);
        if (_link.IsClosed)
        {
            // The standby may have found the role taken when the close woke it; it must have it once more.
            desk.StandbyWanted.Signal();
        }
    }

    private void ReadUntilDone(ConnectionCall mine)
    {
        while (!mine.IsDone && !_link.IsClosed)
        {
            uint attention = _link.Attention;
            bool isPeerGone = _link.IsPeerGone;
            long since = 0;
            if (Receive(mine)
                || desk.CloseIfPeerGone(isPeerGone)
                || _spin.SpinUntil(new DataCondition(_ring, mine), out since))
            {
                continue;
            }

            if (desk.Arm(out long position) && !mine.IsDone)
            {
                if (!_link.SleepForData(position, attention))
                {
                    _link.OnBackstop(isDataUnrung: _ring.HasData && !_link.IsRungAfterAll(attention));
                }
                else if (_ring.HasData)
                {
                    _spin.NoteSlept(since);
                }
            }

            _ring.Disarm();
        }
    }

    /// <summary>Takes records until there is none or the caller's call is done. True when there was one.</summary>
    private bool Receive(ConnectionCall mine)
    {
        bool isAny = false;
        while (!mine.IsDone && desk.TryReceive(out ConnectionCall? call))
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
        if (call.HasWork)
        {
            call.MessagesDue = 0;
            call.QueueWork();
        }
        else if (call.IsDone)
        {
            call.Waiter?.Signal();
        }
    }

    private void WaitForSignal(ConnectionCall call)
    {
        WakeLatch waiter = call.Waiter!;
        if (!_link.IsClosed && _spin.SpinUntil(new SignalCondition(waiter, call, _role)))
        {
            waiter.Clear();
            return;
        }

        desk.SleepingCallers.Add(waiter);
        try
        {
            // Whoever freed the role before this thread was in the list did not signal it: so look once more. After a
            // close the free role is the standby's, and it signals every caller when their calls have ended.
            Interlocked.MemoryBarrier();
            if (!call.IsDone && (!_role.IsFree || _link.IsClosed))
            {
                waiter.Wait(WaitBounds.Backstop);
            }
        }
        finally
        {
            // Also when the thread is interrupted: it would be signalled in place of one that sleeps.
            desk.SleepingCallers.Remove(waiter);
        }
    }

    private readonly struct DataCondition(RingReader ring, ConnectionCall call) : ISpinCondition
    {
        public bool IsMet => ring.HasData || call.IsDone;
    }

    private readonly struct SignalCondition(WakeLatch waiter, ConnectionCall call, ReaderRole role) : ISpinCondition
    {
        public bool IsMet => call.IsDone || waiter.IsSignalled || role.IsFree;
    }
}
