namespace RpcOverShm.Sending;

/// <summary>
/// A few free slots on their way from the one thread at a time that frees them to the one at a time that gives them out
/// again: a bounded queue of one producer and one consumer, which needs no interlocked operation.
/// </summary>
internal sealed class FreeSlotCache
{
    private const int Capacity = 64;

    private readonly int[] _slots = new int[Capacity];
    private int _given; // how often so far; written by the giver
    private int _taken; // likewise by the taker

    /// <summary>By the giver. False when there is no room.</summary>
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

    /// <summary>By the taker. False when there is none.</summary>
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
