using System.Runtime.CompilerServices;
using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <summary>
/// The calls that this side has started: assigns their ids and finds calls by id. A slot is free only after the End of
/// the peer was received, so an abandoned call keeps its slot until then.
/// Calls are added under the gate of the sender; the holder of the reader role finds and removes them. Free slots are
/// exchanged without a lock.
/// </summary>
internal sealed class OutgoingCalls(uint maxCalls, bool isFromAcceptor)
{
    private const int BlockSize = 256;
    private const int NoSlot = -1;

    // Blocks never move after their creation: the reader reads them while other threads add calls.
    private readonly Block?[] _blocks = new Block?[(maxCalls + BlockSize - 1) / BlockSize];
    private long _freeTop = NoSlot; // low half: the topmost free slot; high half: an ABA tag
    private int _used;              // slots assigned at least once

    /// <summary>Counts the active calls that are not one-way.</summary>
    public DrainCounter TwoWayCounter { get; } = new();

    /// <summary>Counts the active one-way calls: no thread waits for their end.</summary>
    public DrainCounter OneWayCounter { get; } = new();

    /// <summary>Assigns an id; returns false at the peer's limit of calls. The caller holds the gate.</summary>
    public bool TryAdd(ConnectionCall call)
    {
        int slot = PopFree();
        if (slot == NoSlot)
        {
            if (_used >= maxCalls)
            {
                return false;
            }

            slot = _used++;
            if (slot % BlockSize == 0)
            {
                Volatile.Write(ref _blocks[slot / BlockSize], new Block());
            }
        }

        ref Entry entry = ref EntryOf(slot);
        entry.Generation = CallId.NextGeneration(entry.Generation);
        call.Id = new CallId(slot, entry.Generation, isFromAcceptor);
        CounterOf(call).Add();
        Volatile.Write(ref entry.Call, call);
        return true;
    }

    /// <summary>Returns the open call. A call is open until the peer's End; other ids violate the protocol.</summary>
    /// <exception cref="ProtocolException">No call with this id is open.</exception>
    public ConnectionCall Find(CallId id) => TryFind(id) ?? throw NotOpen(id);

    /// <summary>Returns the open call with this id, or null.</summary>
    public ConnectionCall? TryFind(CallId id)
    {
        Block? block = id.Slot < maxCalls ? Volatile.Read(ref _blocks[id.Slot / BlockSize]) : null;
        ConnectionCall? call = block is null ? null : Volatile.Read(ref block.Entries[id.Slot % BlockSize].Call);
        return call is not null && call.Id == id ? call : null;
    }

    /// <summary>Removes the call, so its slot can be reused. The caller holds the reader role.</summary>
    public void Remove(ConnectionCall call)
    {
        int slot = call.Id.Slot;
        ref Entry entry = ref EntryOf(slot);
        entry.Call = null;
        PushFree(slot, ref entry);
        CounterOf(call).Remove();
    }

    /// <summary>
    /// Removes a call that the peer does not know. The peer expects the generations of a slot in order, so the next
    /// call in the slot gets the id of this one. The caller holds the gate of the sender, and not the reader role.
    /// </summary>
    public void Withdraw(ConnectionCall call)
    {
        ref Entry entry = ref EntryOf(call.Id.Slot);
        entry.Generation = call.Id.Generation - 1;
        entry.Call = null;
        PushFree(call.Id.Slot, ref entry);
        CounterOf(call).Withdraw();
    }

    /// <summary>Returns all calls that occupy a slot.</summary>
    public ConnectionCall[] Snapshot() =>
    [
        .. _blocks.OfType<Block>()
            .SelectMany(block => block.Entries)
            .Select(entry => entry.Call)
            .OfType<ConnectionCall>(),
    ];

    private DrainCounter CounterOf(ConnectionCall call) => call.IsOneWay ? OneWayCounter : TwoWayCounter;

    private static ProtocolException NotOpen(CallId id) => new($"A frame for call {id}, which is not open.");

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ref Entry EntryOf(int slot) => ref _blocks[slot / BlockSize]!.Entries[slot % BlockSize];

    // One thread at a time pops. The ABA tag in the high half detects a top slot that was popped and pushed again.
    private int PopFree()
    {
        long top = Volatile.Read(ref _freeTop);
        while ((int)top != NoSlot)
        {
            long next = NextTop(top, EntryOf((int)top).NextFree);
            long seen = Interlocked.CompareExchange(ref _freeTop, next, top);
            if (seen == top)
            {
                return (int)top;
            }

            top = seen;
        }

        return NoSlot;
    }

    private void PushFree(int slot, ref Entry entry)
    {
        long top = Volatile.Read(ref _freeTop);
        while (true)
        {
            entry.NextFree = (int)top;
            long seen = Interlocked.CompareExchange(ref _freeTop, NextTop(top, slot), top);
            if (seen == top)
            {
                return;
            }

            top = seen;
        }
    }

    private static long NextTop(long top, int slot) => (((top >> 32) + 1) << 32) | (uint)slot;

    private struct Entry
    {
        public ConnectionCall? Call;
        public uint Generation;
        public int NextFree;
    }

    private sealed class Block
    {
        public readonly Entry[] Entries = new Entry[BlockSize];
    }
}
