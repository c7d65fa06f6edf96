namespace RpcOverShm.Connections;

/// <summary>
/// A small bounded SPSC queue that passes free slots from the thread that frees them to the thread that assigns them.
/// At most one thread at a time has each role, so no interlocked operation is needed.
/// </summary>
internal sealed class FreeSlotCache
{
    private const int Capacity = 64;

    private readonly int[] _slots = new int[Capacity];
    private int _given; // slots given so far; written by the producer
    private int _taken; // slots taken so far; written by the consumer

    /// <summary>Adds a slot. Called by the producer. Returns false if the queue is full.</summary>
    public bool TryGive(int slot)
    {
        int given = _given;
        if (given - Volatile.Read(ref _taken) == Capacity)
        {
            return false;
        }

        _slots[given & (Capacity - 1)] = slot;
        Volatile.Write(ref _given, given + 1);
        return true;
    }

    /// <summary>Removes a slot. Called by the consumer. Returns false if the queue is empty.</summary>
    public bool TryTake(out int slot)
    {
        int taken = _taken;
        if (taken == Volatile.Read(ref _given))
        {
            slot = 0;
            return false;
        }

        slot = _slots[taken & (Capacity - 1)];
        Volatile.Write(ref _taken, taken + 1);
        return true;
    }
}
