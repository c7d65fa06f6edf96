using System.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;

namespace RpcOverShm.Connections;

/// <summary>
/// A connection as its event loop sees it. The loop reads while no caller reads for itself, runs user code inline if
/// the scheduling mode allows, sends what had to wait for space, and ends the reading side when the link closes.
/// </summary>
internal sealed class ConnectionReader : EventSource
{
    // Messages of a stream before its reader is woken: enough to share that cost, few enough for the L1 cache.
    private const int MostRecordsPerWake = 16;

    // The bounds of one run, so that no connection starves the others of its loop. The clock is read after so many
    // records, and after each run of user code but the first.
    private const int MostRecordsPerRun = 256;
    private const int RecordsPerCheck = 16;
    private const long MostMicroseconds = 200;

    private static readonly long s_mostTicks = Stopwatch.Frequency * MostMicroseconds / 1_000_000;

    private readonly ReaderCoordinator _coordinator;
    private readonly PeerLink _link;
    private readonly RingReader _ring;
    private readonly ReaderRole _role;
    private readonly FrameSender _sender;
    private readonly Action _onClosed;
    private readonly InlineRunner _runner;

    public ConnectionReader(ReaderCoordinator coordinator, FrameSender sender, Action onClosed)
    {
        _coordinator = coordinator;
        _link = coordinator.Link;
        _ring = coordinator.Ring;
        _role = coordinator.Role;
        _sender = sender;
        _onClosed = onClosed;
        _runner = new InlineRunner(coordinator);
        coordinator.Source = this;
    }

    public override bool HasWork =>
        (_ring.HasData && !_coordinator.HasBlockedCallers && _role.IsFree) || _sender.HasSpaceForWaiting;

    public override bool IsForsaken =>
        _role.IsFree
        && !_coordinator.HasBlockedCallers
        && _ring.ArmedFor == Doorbell.None
        && (_coordinator.IsExpecting || _ring.HasData);

    private bool MustStop => _coordinator.HasBlockedCallers || _link.IsClosed;

    /// <summary>
    /// Ends a connection that no loop serves. Called by the thread that starts it, after the link closed.
    /// </summary>
    public void EndWithoutLoop()
    {
        // The link is closed, so a caller that already reads gives the role up soon.
        while (!_role.TryTake())
        {
            Thread.Yield();
        }

        End();
    }

    public override bool Run(LoopThread me)
    {
        if (_link.IsClosed)
        {
            return !_role.TryTake() || EndOnLoop(me);
        }

        _sender.SendWaiting();
        long begun = 0;
        for (int records = 0; records < MostRecordsPerRun;)
        {
            // A caller that reads, or is about to, receives all that comes.
            if (_coordinator.HasBlockedCallers || !_role.TryTake())
            {
                _coordinator.SignalCallersIfFree();
                break;
            }

            bool isOver = Receive(ref records, ref begun, out ConnectionCall? due, out int messages);
            _role.Release();

            // StoreLoad: the role was released before this check for callers that came meanwhile.
            _coordinator.SignalCallersIfFree();
            if (due is not null)
            {
                if (!_runner.RunOrQueue(me, due, messages))
                {
                    return false;
                }

                isOver = !_ring.HasData ? !_link.IsPeerGone : IsTimeUp(ref begun);
            }

            if (isOver)
            {
                break;
            }
        }

        _coordinator.FlushDeferred();
        if (_link.IsPeerGone && !_link.IsClosed && _role.IsFree && !_coordinator.HasBlockedCallers)
        {
            // Not all was read yet; after that the link closes.
            Request();
        }

        return true;
    }

    public override bool TryPark()
    {
        // The end of the link or of the peer is told once, and a run that gives way to a caller cannot act on it. So
        // the connection stays active. The loop spins until the caller is gone, but not for long: one that reads, or is
        // woken to read, finds the same end and closes the link, or leaves.
        if (_link.IsClosed || _link.IsPeerGone)
        {
            Request();
            return false;
        }

        if (_coordinator.HasBlockedCallers || !_role.TryTake())
        {
            // A thread that arms for this loop holds the role for a moment. If the doorbell has rung in that moment, it
            // does not ring again, so data must keep the connection active until somebody has read it.
            return !_ring.HasData;
        }

        bool isArmed = _coordinator.Arm(Doorbell.Socket);
        _role.Release();
        _coordinator.SignalCallersIfFree();
        return isArmed;
    }

    public override void OnSocket() => Request();

    public override void DrainSocket(bool hasEnded)
    {
        _link.DrainSocket(hasEnded);

        // A doorbell for space that came after the run was read just now: the peer does not ring twice. Data needs no
        // such care: the loop looks for it again before it parks the connection.
        if (_sender.IsWaitingForSpace)
        {
            Request();
        }
    }

    public override void OnTakingOver() => _coordinator.OnTakingOver();

    public override void OnTakenOver()
    {
        _coordinator.FlushDeferred();
        Request();
    }

    protected override void OnLostDoorbell() => _link.OnSafetyTimeout(isLostWakeup: true);

    protected override long? FindUnrung()
    {
        // Positions are even, so space is told from data by an odd number.
        if (_sender.HasSpaceForWaiting)
        {
            return _link.Writer.HeadHint + 1;
        }

        if (!_ring.HasData || !_role.TryTake())
        {
            return null;
        }

        bool isUnrung = !_link.IsClosed && (_ring.ArmedFor & Doorbell.Socket) != 0 && _ring.HasData;
        long at = _ring.Position;
        _role.Release();
        _coordinator.FindReader();
        return isUnrung ? at : null;
    }

    /// <summary>
    /// Ends the connection. With thousands of open calls that takes a while, so it counts as user code, from which the
    /// loop can be taken over. Returns false if it was. When too many threads have lost the loop, it keeps the loop: a
    /// client could end many connections at once. It does not go to the thread pool, where it would wait behind the
    /// calls that it ends.
    /// </summary>
    private bool EndOnLoop(LoopThread me)
    {
        // First, so that another thread that runs the loop does not look at memory that is being unmapped.
        EventLoop loop = Loop!;
        loop.Remove(this);
        if (loop.IsFullOfStuck)
        {
            End();
            return true;
        }

        _coordinator.SetRunning(null);
        me.MayDefer = false;
        loop.BeginUserCode(me);
        End();
        return loop.EndUserCode(me);
    }

    // The time of a run counts from the first check, after the first user code or some records.
    private static bool IsTimeUp(ref long begun)
    {
        long now = Stopwatch.GetTimestamp();
        if (begun == 0)
        {
            begun = now;
        }

        return now - begun >= s_mostTicks;
    }

    private void End()
    {
        _role.Retire();
        _onClosed();
        _link.Leave();
    }

    /// <summary>
    /// Receives records, with the role held, until user code is due, none is left, or there were many. Returns whether
    /// there is nothing more to receive now.
    /// </summary>
    private bool Receive(ref int records, ref long begun, out ConnectionCall? due, out int messages)
    {
        _ring.Disarm();
        bool isPeerGone = _link.SealIfPeerGone();
        due = null;
        messages = 0;
        bool hasReceived = false;
        while (_coordinator.TryReceive(out ConnectionCall? call))
        {
            hasReceived = true;
            records++;
            if (due is not null && due != call)
            {
                // The next record is for another call after all: the peer has changed it since it was checked.
                due.QueueUserCode();
                due = null;
                messages = 0;
            }

            if (call is { HasUserCode: true })
            {
                due = call;
                if (++messages < MostRecordsPerWake && !MustStop && IsMoreOfStream(call))
                {
                    continue;
                }

                messages = TakeMessages(call);
                return false;
            }

            _runner.OnRecordWithoutCode();
            if (call is { IsDone: true })
            {
                call.Waiter?.Signal();
            }

            if (MustStop
                || records >= MostRecordsPerRun
                || (records % RecordsPerCheck == 0 && IsTimeUp(ref begun)))
            {
                return true;
            }
        }

        if (due is not null)
        {
            messages = TakeMessages(due);
            return false;
        }

        if (!hasReceived)
        {
            _coordinator.FlushDeferred();
            _coordinator.CloseIfPeerGone(isPeerGone);
        }

        return !hasReceived || (!isPeerGone && !_ring.HasData);
    }

    // Messages of one stream that came together cause a single wake-up, if no record of another call lies between them.
    // Such a record must not be received first: the woken code may block this thread before the other call is served.
    private bool IsMoreOfStream(ConnectionCall call) => call.HasOnlyReaderToWake && _ring.IsNextOf(call.Id.Value);

    private static int TakeMessages(ConnectionCall call)
    {
        int messages = Math.Max(call.MessagesDue, 1);
        call.MessagesDue = 0;
        return messages;
    }
}
