using RpcOverShm.Protocol;

namespace RpcOverShm.Sending;

/// <summary>
/// The calls that the peer has started, by the ids it chose. The holder of the reader role adds and finds; calls are
/// removed under the sender's gate, when their End goes into the ring and before the peer can see it, so that the
/// peer's next call in the same slot finds it empty.
/// </summary>
internal sealed class IncomingCalls(uint maxCalls, bool isFromAcceptor)
{
    private const int BlockSize = 256;

    // Blocks never move once made: threads remove calls while the reader adds blocks.
    private readonly Block?[] _blocks = new Block?[(maxCalls + BlockSize - 1) / BlockSize];

    /// <summary>How many are being served, and when none is.</summary>
    public DrainCounter Living { get; } = new();

    /// <summary>Enters a call under the id that the peer has given it.</summary>
    /// <exception cref="ProtocolException">The id is not one that the peer may use now.</exception>
    public void Add(CallId id, ConnectionCall call)
    {
        if (id.IsFromAcceptor != isFromAcceptor || id.Slot >= maxCalls)
        {
            throw new ProtocolException($"Call {id} is out of range; at most {maxCalls} calls are taken at a time.");
        }

        Block block = _blocks[id.Slot / BlockSize] ??= new Block();
        int index = id.Slot % BlockSize;
        if (id.Generation != CallId.NextGeneration(block.Generations[index])
            || Volatile.Read(ref block.Calls[index]) is not null)
        {
            throw new ProtocolException($"Call {id} was started twice or out of turn.");
        }

        block.Generations[index] = id.Generation;
        call.Id = id;
        Living.Add();
        Volatile.Write(ref block.Calls[index], call);
    }

    /// <summary>The call with this id, or null when it was ended here and the peer may not know yet.</summary>
    /// <exception cref="ProtocolException">There was no such call.</exception>
    public ConnectionCall? Find(CallId id)
    {
        Block? block = id.IsFromAcceptor == isFromAcceptor && id.Slot < maxCalls ? _blocks[id.Slot / BlockSize] : null;
        if (block is null || id.Generation == 0 || block.Generations[id.Slot % BlockSize] != id.Generation)
        {
            throw new ProtocolException($"A frame for call {id}, which was never started.");
        }

        return Volatile.Read(ref block.Calls[id.Slot % BlockSize]);
    }

    /// <summary>Forgets the call. False when it was forgotten before. Under the gate.</summary>
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

    /// <summary>All calls that are being served.</summary>
    public ConnectionCall[] Snapshot() =>
        [.. _blocks.OfType<Block>().SelectMany(block => block.Calls).OfType<ConnectionCall>()];

    private sealed class Block
    {
        public readonly ConnectionCall?[] Calls = new ConnectionCall?[BlockSize];

        // The last generation seen of each slot. The reader's own.
        public readonly uint[] Generations = new uint[BlockSize];
    }
}
