using RpcOverShm.Rings;

namespace RpcOverShm.Connections;

/// <summary>
/// Sends what is queued, turn by turn: by whichever thread has queued or freed something, or by the space waiter's once
/// the ring is full. Between two turns the gate is free for others.
/// </summary>
internal sealed class OutboundPump
{
    private readonly FramePublisher _publisher;
    private readonly FrameWriter _writer;
    private readonly OutboundQueue _queue;
    private readonly SpaceWaiter _spaceWaiter;

    public OutboundPump(PeerLink link, FramePublisher publisher, FrameWriter writer, OutboundQueue queue)
    {
        _publisher = publisher;
        _writer = writer;
        _queue = queue;
        _spaceWaiter = new SpaceWaiter(link, SendReadyOrPark, Unpark);
    }

    /// <summary>Sends what can go on; hands over to the space waiter when the ring is full.</summary>
    public void SendReady()
    {
        TurnOutcome outcome;
        do
        {
            outcome = TakeTurn();
        }
        while (outcome == TurnOutcome.More);

        if (outcome == TurnOutcome.NoSpace)
        {
            _spaceWaiter.Wake();
        }
    }

    /// <summary>The link is closed: the space waiter's thread ends.</summary>
    public void Close() => _spaceWaiter.Close();

    /// <summary>The space waiter's step; see there.</summary>
    private long? SendReadyOrPark()
    {
        while (true)
        {
            TurnOutcome outcome = TakeTurn();
            if (outcome == TurnOutcome.Idle)
            {
                return null;
            }

            try
            {
                lock (_publisher.Gate)
                {
                    if (outcome == TurnOutcome.NoSpace
                        && !_publisher.IsClosed
                        && _writer.ParkForSpace() is { } head)
                    {
                        return head;
                    }
                }
            }
            catch (RingCorruptedException exception)
            {
                // Parking looks at the peer's head as well, and an exception must not leave the waiter's thread.
                _publisher.CloseFor(exception);
                return null;
            }
        }
    }

    private void Unpark()
    {
        lock (_publisher.Gate)
        {
            if (!_publisher.IsClosed)
            {
                _writer.UnparkForSpace();
            }
        }
    }

    private TurnOutcome TakeTurn()
    {
        TurnOutcome outcome;
        bool mustWake;
        try
        {
            lock (_publisher.Gate)
            {
                if (_publisher.IsClosed)
                {
                    return TurnOutcome.Idle;
                }

                outcome = _queue.WriteTurn();
                mustWake = _publisher.Publish();
            }
        }
        catch (RingCorruptedException exception)
        {
            _publisher.CloseFor(exception);
            return TurnOutcome.Idle;
        }

        _publisher.WakePeer(mustWake);
        return outcome;
    }
}
