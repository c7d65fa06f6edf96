using RpcOverShm.Protocol;

namespace RpcOverShm.Sending;

/// <summary>
/// The calls that the peer has started, by the ids it chose. The holder of the reader role adds and finds calls. They
/// are removed under the sender's gate, when their End goes into the ring and before the peer can see it. So the slot
/// is empty when the peer's next call reuses it.
/// </summary>
internal sealed class IncomingCalls(uint maxCalls, bool isFromAcceptor)
{
    private const int BlockSize = 256;

    // Beside the last generation of a slot: no frame of that call may come any more.
    private const uint IsShut = 1u << 31;

    // Blocks never move after their creation: other threads remove calls while the reader adds blocks.
    private readonly Block?[] _blocks = new Block?[(maxCalls + BlockSize - 1) / BlockSize];

    /// <summary>Counts the calls that have not ended.</summary>
    public DrainCounter Living { get; } = new();

    /// <summary>Adds a call under the id that the peer has assigned.</summary>
    /// <exception cref="ProtocolException">The peer may not use this id now.</exception>
    public void Add(CallId id, ConnectionCall call)
    {
        Pass(id);
        call.Id = id;
        Living.Add();
        Volatile.Write(ref _blocks[id.Slot / BlockSize]!.Calls[id.Slot % BlockSize], call);
    }

    /// <summary>
    /// Checks and counts the use of an id, without a call that later frames could find: a whole one-way call has none.
    /// </summary>
    /// <exception cref="ProtocolException">The peer may not use this id now.</exception>
    public void Pass(CallId id)
    {
        if (id.IsFromAcceptor != isFromAcceptor || id.Slot >= maxCalls)
        {
            throw new ProtocolException($"Call {id} is out of range; at most {maxCalls} calls are taken at a time.");
        }

        Block block = _blocks[id.Slot / BlockSize] ??= new Block();
        int index = id.Slot % BlockSize;
        if (id.Generation != CallId.NextGeneration(block.Generations[index] & ~IsShut)
            || Volatile.Read(ref block.Calls[index]) is not null)
        {
            throw new ProtocolException($"Call {id} was started twice or out of turn.");
        }

        block.Generations[index] = id.Generation;
    }

    /// <summary>
    /// Lets no more frames of a call come, whose id is the last one that was used of its slot. The peer has sent the
    /// last one itself, of a one-way call: nothing is under way.
    /// </summary>
    public void Shut(CallId id) => _blocks[id.Slot / BlockSize]!.Generations[id.Slot % BlockSize] |= IsShut;

    /// <summary>Returns the call, or null if this side has ended it, which the peer may not know yet.</summary>
    /// <exception cref="ProtocolException">No call with this id was ever started, or the peer has ended it.</exception>
    public ConnectionCall? Find(CallId id)
    {
        Block? block = id.IsFromAcceptor == isFromAcceptor && id.Slot < maxCalls ? _blocks[id.Slot / BlockSize] : null;
        uint last = block is null ? 0 : block.Generations[id.Slot % BlockSize];
        if (id.Generation == 0 || last != id.Generation)
        {
            throw new ProtocolException(last == (id.Generation | IsShut)
                ? $"A frame for call {id} behind its last one."
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
        Living.Remove();
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
