using RpcOverShm.Links;

namespace RpcOverShm.Sending;

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
        TurnResult outcome;
        do
        {
            outcome = TakeTurn(isParking: false, out _);
        }
        while (outcome == TurnResult.More);

        if (outcome == TurnResult.NoSpace)
        {
            _spaceWaiter.Wake();
        }
    }

    /// <summary>The link is closed: the space waiter's thread ends.</summary>
    public void Close() => _spaceWaiter.Close();

    /// <summary>The space waiter's step; see there.</summary>
    private long? SendReadyOrPark()
    {
        long? head;
        while (TakeTurn(isParking: true, out head) != TurnResult.Idle)
        {
            if (head is not null)
            {
                return head;
            }
        }

        return null;
    }

    private void Unpark()
    {
        using FramePublisher.Scope scope = _publisher.Enter();
        if (!scope.IsClosed)
        {
            _writer.UnparkForSpace();
        }
    }

    /// <param name="isParking">Announces, where there is no space, that this side sleeps until there is.</param>
    /// <param name="head">The head to sleep on; null when nothing waits, or the peer has read meanwhile.</param>
    private TurnResult TakeTurn(bool isParking, out long? head)
    {
        head = null;
        using FramePublisher.Scope scope = _publisher.Enter();
        if (scope.IsClosed)
        {
            return TurnResult.Idle;
        }

        TurnResult result = _queue.WriteTurn();
        if (isParking && result == TurnResult.NoSpace)
        {
            // Before the gate is left: somebody else could look at the head, write something small and so have this
            // side sleep on a head behind which there is space.
            head = _writer.ParkForSpace();
        }

        scope.Publish();
        return _writer.Corruption is null ? result : TurnResult.Idle;
    }
}
