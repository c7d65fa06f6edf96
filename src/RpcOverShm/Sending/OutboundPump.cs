namespace RpcOverShm.Sending;

/// <summary>
/// Sends queued frames, a few records per holding of the gate: on the thread whose change made sending possible (such
/// as new frames or credit), or on the event loop once the ring is full. A thread sends its own message as far as the
/// ring takes it, but helps with the frames of other calls for two turns only: it may hold the reader role, and nobody
/// reads while it sends.
/// </summary>
internal sealed class OutboundPump(FramePublisher publisher, FrameWriter writer, OutboundQueue queue)
{
    // Eight records, up to 256 KiB: as much as credit allows at a time.
    private const int TurnsForOthers = 2;

    // What the event loop sends before it looks after its other connections: up to 1 MiB.
    private const int TurnsOfLoop = 8;

    private volatile bool _isWaiting; // something waits for the event loop, which is requested

    /// <summary>Requests a call of <see cref="SendWaiting"/> on the event loop. Set before anything is sent.</summary>
    public Action? OnSpaceWanted { get; set; }

    /// <summary>Whether something waits for space.</summary>
    public bool IsWaiting => _isWaiting;

    /// <summary>
    /// Whether something waits for space, and the peer has released some. A hint, for the event loop.
    /// </summary>
    public bool HasSpaceForWaiting => _isWaiting && writer.HasSpaceHint;

    /// <summary>
    /// Sends queued frames that can go. Leaves the rest to the event loop if the ring is full, or after two turns if
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
            Leave();
        }
    }

    /// <summary>
    /// Sends what waits, on the event loop. If the ring is full, parks this side for space: the peer then rings. If
    /// more can go at once, requests another call.
    /// </summary>
    public void SendWaiting()
    {
        if (!_isWaiting)
        {
            return;
        }

        _isWaiting = false;
        Unpark();
        for (int turns = 0; turns < TurnsOfLoop; turns++)
        {
            TurnResult outcome = TakeTurn(isParking: true, out bool isParked);
            if (isParked)
            {
                _isWaiting = true;
                return;
            }

            if (outcome == TurnResult.Idle)
            {
                return;
            }
        }

        Leave();
    }

    private void Leave()
    {
        _isWaiting = true;
        OnSpaceWanted?.Invoke();
    }

    private void Unpark()
    {
        using FramePublisher.Scope scope = publisher.Enter();
        if (!scope.IsClosed)
        {
            writer.UnparkForSpace();
        }
    }

    /// <summary>
    /// Writes a few records. With <paramref name="isParking"/>, also parks this side if the ring is full. Then
    /// <paramref name="isParked"/> is false if the peer has read meanwhile.
    /// </summary>
    private TurnResult TakeTurn(bool isParking, out bool isParked)
    {
        isParked = false;
        using FramePublisher.Scope scope = publisher.Enter();
        if (scope.IsClosed)
        {
            return TurnResult.Idle;
        }

        TurnResult result = queue.WriteTurn();
        if (isParking && result == TurnResult.NoSpace)
        {
            // Inside the gate: otherwise another thread could refresh the head and write a small record, and this side
            // would park at a head that leaves space.
            isParked = writer.TryParkForSpace();
        }

        scope.Publish();
        return writer.Corruption is null ? result : TurnResult.Idle;
    }
}
