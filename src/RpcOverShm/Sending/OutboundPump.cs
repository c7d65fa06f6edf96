using RpcOverShm.Links;

namespace RpcOverShm.Sending;

/// <summary>
/// Sends queued frames, a few records per holding of the gate: on the thread whose change made sending possible (such
/// as new frames or credit), or on the space waiter's thread once the ring is full. A thread sends its own message as
/// far as the ring takes it, but helps with the frames of other calls for two turns only: it may hold the reader role,
/// and nobody reads while it sends.
/// </summary>
internal sealed class OutboundPump
{
    // Eight records, up to 256 KiB: as much as credit allows at a time.
    private const int TurnsForOthers = 2;

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

    /// <summary>
    /// Sends queued frames that can go. Leaves the rest to the space waiter if the ring is full, or after two turns if
    /// the given call, if any, has nothing more to send at once.
    /// </summary>
    public void SendReady(ConnectionCall? own = null)
    {
        TurnResult outcome;
        int turns = 0;
        do
        {
            outcome = TakeTurn(isParking: false, out _);
            turns++;
        }
        while (outcome == TurnResult.More && (turns < TurnsForOthers || own?.Sending.Is(SendFlags.Ready) == true));

        if (outcome != TurnResult.Idle)
        {
            _spaceWaiter.Wake();
        }
    }

    /// <summary>Ends the space waiter's thread after the link was closed.</summary>
    public void Close() => _spaceWaiter.Close();

    /// <summary>Sends what fits. Returns the head to sleep on if the ring is full, null if nothing is queued.</summary>
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

    /// <summary>
    /// Writes a few records. With <paramref name="isParking"/>, also parks this side if the ring is full. Then
    /// <paramref name="head"/> is the head to sleep on, or null if the peer has read meanwhile.
    /// </summary>
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
            // Inside the gate: otherwise another thread could refresh the head and write a small record, and this side
            // would sleep on a head that leaves space.
            head = _writer.ParkForSpace();
        }

        scope.Publish();
        return _writer.Corruption is null ? result : TurnResult.Idle;
    }
}
