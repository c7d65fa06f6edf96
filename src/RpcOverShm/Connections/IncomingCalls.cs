using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <summary>
/// The calls that the peer has started, by the ids that the peer assigned. The holder of the reader role adds and finds
/// calls. A call is removed under the gate of the sender, when its End is written to the ring and before that is
/// published. So the slot is empty when the next call of the peer reuses it.
/// </summary>
/// <param name="maxCalls">The maximum number of concurrent calls.</param>
/// <param name="isFromAcceptor">Whether the peer has accepted the connection.</param>
/// <param name="window">The window of one-way calls: the total cost at which no further one-way call may start.</param>
internal sealed class IncomingCalls(uint maxCalls, bool isFromAcceptor, uint window)
{
    private const int BlockSize = 256;

    // A flag in the stored generation of a slot: further frames of that call violate the protocol.
    private const uint RejectFlag = 1u << 31;

    // Blocks never move after their creation: other threads remove calls while the reader adds blocks.
    private readonly Block?[] _blocks = new Block?[(maxCalls + BlockSize - 1) / BlockSize];
    private long _oneWayBytes; // the cost of the one-way calls that have not ended

    /// <summary>Counts the active calls, one-way calls included.</summary>
    public DrainCounter ActiveCounter { get; } = new();

    /// <summary>Adds a call under the id that the peer has assigned.</summary>
    /// <exception cref="ProtocolException">The peer may not use this id now.</exception>
    public void Add(CallId id, ConnectionCall call)
    {
        if (id.IsFromAcceptor != isFromAcceptor || id.Slot >= maxCalls)
        {
            throw new ProtocolException(
                $"The peer started call {id}, which is out of range: this side accepts {maxCalls} concurrent calls.");
        }

        Block block = _blocks[id.Slot / BlockSize] ??= new Block();
        int index = id.Slot % BlockSize;
        if (id.Generation != CallId.NextGeneration(block.Generations[index] & ~RejectFlag)
            || Volatile.Read(ref block.Calls[index]) is not null)
        {
            throw new ProtocolException($"Call {id} was started twice or out of turn.");
        }

        block.Generations[index] = id.Generation;
        call.Id = id;
        ActiveCounter.Add();
        Volatile.Write(ref block.Calls[index], call);
    }

    /// <summary>
    /// Adds a one-way call. Its cost counts until its End is written to the ring. The peer counts the same records in
    /// the same order and learns of an End later, so it never finds more of the window free than this side.
    /// </summary>
    /// <exception cref="ProtocolException">The peer may not use this id now, or the window is full.</exception>
    public void AddOneWay(CallId id, ConnectionCall call, int payloadBytes)
    {
        long before = Volatile.Read(ref _oneWayBytes);
        if (before >= window)
        {
            throw new ProtocolException(
                $"The peer started a one-way call without capacity: earlier ones cost {before} bytes, and the "
                + $"limit is {window}.");
        }

        AddOneWayCost(call, OneWayCalls.BytesPerCall + payloadBytes);
        Add(id, call);
    }

    /// <summary>
    /// Adds the cost of a record of a one-way call. The caller holds the gate of the sender and the call has not ended,
    /// or the call is not yet in the table.
    /// </summary>
    public void AddOneWayCost(ConnectionCall call, int bytes)
    {
        call.Sending.OneWayCost += bytes;
        Interlocked.Add(ref _oneWayBytes, bytes);
    }

    /// <summary>
    /// Rejects further frames of a one-way call: the peer has sent the last one. The call must be the last one that
    /// used its slot.
    /// </summary>
    public void RejectFurtherFrames(CallId id) =>
        _blocks[id.Slot / BlockSize]!.Generations[id.Slot % BlockSize] |= RejectFlag;

    /// <summary>Returns the call, or null if this side has ended it, which the peer may not know yet.</summary>
    /// <exception cref="ProtocolException">No call with this id was ever started, or the peer has ended it.</exception>
    public ConnectionCall? Find(CallId id)
    {
        Block? block = id.IsFromAcceptor == isFromAcceptor && id.Slot < maxCalls ? _blocks[id.Slot / BlockSize] : null;
        uint last = block is null ? 0 : block.Generations[id.Slot % BlockSize];
        if (id.Generation == 0 || last != id.Generation)
        {
            throw new ProtocolException(last == (id.Generation | RejectFlag)
                ? $"The peer sent a frame for call {id} after its last one."
                : $"A frame for call {id}, which was never started.");
        }

        return Volatile.Read(ref block!.Calls[id.Slot % BlockSize]);
    }

    /// <summary>Removes the call; returns false if it was removed before. The caller holds the sender's gate.</summary>
    public bool Remove(ConnectionCall call)
    {
        int index = call.Id.Slot % BlockSize;
        if (_blocks[call.Id.Slot / BlockSize] is not { } block || block.Calls[index] != call)
        {
            return false;
        }

        Volatile.Write(ref block.Calls[index], null);
        ActiveCounter.Remove();
        if (call.IsOneWay)
        {
            Interlocked.Add(ref _oneWayBytes, -call.Sending.OneWayCost);
        }

        return true;
    }

    /// <summary>Returns all calls that have not ended.</summary>
    public ConnectionCall[] Snapshot() =>
        [.. _blocks.OfType<Block>().SelectMany(block => block.Calls).OfType<ConnectionCall>()];

    private sealed class Block
    {
        public readonly ConnectionCall?[] Calls = new ConnectionCall?[BlockSize];

        // The last generation of each slot. Accessed by the holder of the reader role only.
        public readonly uint[] Generations = new uint[BlockSize];
    }
}
