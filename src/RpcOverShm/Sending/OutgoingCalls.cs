using System.Runtime.CompilerServices;
using RpcOverShm.Protocol;

namespace RpcOverShm.Sending;

/// <summary>
/// The calls that this side has started: gives out ids and finds calls by them. A slot is free again when the peer's
/// End was read, not before: a given-up call keeps its slot until then. Calls are added under the sender's gate; the
/// holder of the reader role finds and removes. Free slots go from the one to the other without a lock, and as long as
/// they are few without an interlocked operation: each of those costs as much as a small copy.
/// </summary>
internal sealed class OutgoingCalls(uint maxCalls, bool isFromAcceptor)
{
    private const int BlockSize = 256;
    private const int NoSlot = -1;

    // Blocks never move once made: the reader looks while others add.
    private readonly Block?[] _blocks = new Block?[(maxCalls + BlockSize - 1) / BlockSize];
    private readonly FreeSlotCache _recent = new();
    private long _freeTop = NoSlot; // the topmost free slot in the low half, a count against reuse in the high one
    private int _used;              // slots given out at least once

    /// <summary>How many live, and when none does.</summary>
    public DrainCounter Living { get; } = new();

    /// <summary>
    /// Gives the call an id, or returns false when as many calls live as the peer takes. Under the gate.
    /// </summary>
    public bool TryAdd(ConnectionCall call)
    {
        if (!_recent.TryTake(out int slot) && (slot = PopFree()) == NoSlot)
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
        Living.Add();
        Volatile.Write(ref entry.Call, call);
        return true;
    }

    /// <summary>
    /// The call with this id. A frame for any other is the peer's fault: it has ended the call itself.
    /// </summary>
    /// <exception cref="ProtocolException">There is no such call.</exception>
    public ConnectionCall Find(CallId id)
    {
        Block? block = id.Slot < maxCalls ? Volatile.Read(ref _blocks[id.Slot / BlockSize]) : null;
        ConnectionCall? call = block is null ? null : Volatile.Read(ref block.Entries[id.Slot % BlockSize].Call);
        return call is not null && call.Id == id ? call : throw NotOpen(id);
    }

    /// <summary>Forgets the call: its id may be used again. By the holder of the reader role.</summary>
    public void Remove(ConnectionCall call)
    {
        int slot = call.Id.Slot;
        ref Entry entry = ref EntryOf(slot);
        entry.Call = null;
        if (!_recent.TryGive(slot))
        {
            PushFree(slot, ref entry);
        }

        Living.Remove();
    }

    /// <summary>
    /// Forgets a call that the peer has never heard of. The peer counts the generations of a slot, so the next call
    /// takes this one's id. Under the gate.
    /// </summary>
    public void Withdraw(ConnectionCall call)
    {
        ref Entry entry = ref EntryOf(call.Id.Slot);
        entry.Generation = call.Id.Generation - 1;
        entry.Call = null;
        PushFree(call.Id.Slot, ref entry);
        Living.Withdraw();
    }

    /// <summary>All calls that live.</summary>
    public ConnectionCall[] Snapshot() =>
    [
        .. _blocks.OfType<Block>()
            .SelectMany(block => block.Entries)
            .Select(entry => entry.Call)
            .OfType<ConnectionCall>(),
    ];

    private static ProtocolException NotOpen(CallId id) => new($"A frame for call {id}, which is not open.");

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ref Entry EntryOf(int slot) => ref _blocks[slot / BlockSize]!.Entries[slot % BlockSize];

    // One thread at a time takes; the count in the high half tells a top that has come back.
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
