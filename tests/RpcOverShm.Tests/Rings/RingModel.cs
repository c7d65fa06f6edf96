using RpcOverShm.Rings;

namespace RpcOverShm.Tests.Rings;

/// <summary>
/// A second implementation of the ring, for comparison: a queue of records with their expected positions, and the four
/// words that each side must show the other.
/// </summary>
internal sealed class RingModel(long capacity)
{
    private readonly Queue<Record> _records = new();
    private long _tail;
    private long _head;
    private long _wokenForData;
    private long _wokenForSpace;

    public long PublishedTail { get; private set; }

    public long PublishedHead { get; private set; }

    public long ParkedForData { get; private set; }

    public long ParkedForSpace { get; private set; }

    public long Position => _head;

    /// <summary>The record that a read must find; null for none.</summary>
    public Record? Next => _records.TryPeek(out Record? record) && record.End <= PublishedTail ? record : null;

    public bool HasData => _head != PublishedTail;

    /// <summary>Adds a record with this payload if it fits; returns whether it does.</summary>
    public bool TryAdd(byte[] payload, byte kind, bool isControl)
    {
        long length = (16 + payload.Length + 15) / 16 * 16;
        long toEnd = capacity - (_tail % capacity);
        long padding = length > toEnd ? toEnd : 0;
        long free = capacity - (_tail - PublishedHead) - (isControl ? 0 : capacity / 16);
        if (padding + length > free)
        {
            return false;
        }

        _records.Enqueue(new Record(payload, kind, _tail + padding, _tail + padding + length));
        _tail += padding + length;
        return true;
    }

    public WakeMethods Publish()
    {
        PublishedTail = _tail;
        bool isAsleepBefore = ParkedForData % 16 != 0 && PublishedTail > ParkedForData / 16 * 16;
        if (!isAsleepBefore || _wokenForData == ParkedForData)
        {
            return WakeMethods.None;
        }

        _wokenForData = ParkedForData;
        return (WakeMethods)(ParkedForData % 16);
    }

    /// <summary>Notes that the reader has found the next record and so has passed the padding before it.</summary>
    public void Peek() => _head = Next!.Start;

    public WakeMethods Release()
    {
        _head = _records.Dequeue().End;
        bool isDue = _head - PublishedHead >= capacity / 8 || ParkedForSpace != 0;
        return isDue ? PublishHead() : WakeMethods.None;
    }

    public WakeMethods PublishHead()
    {
        PublishedHead = _head;
        bool isAsleepBefore = ParkedForSpace % 16 != 0 && _head > ParkedForSpace / 16 * 16;
        bool isEmpty = PublishedTail == _head;
        bool isEnough = capacity - (PublishedTail - _head) >= capacity * 3 / 8;
        if (!isAsleepBefore || _wokenForSpace == ParkedForSpace || !(isEmpty || isEnough))
        {
            return WakeMethods.None;
        }

        _wokenForSpace = ParkedForSpace;
        return (WakeMethods)(ParkedForSpace % 16);
    }

    /// <summary>Arms the reader; returns whether it may sleep.</summary>
    public bool Arm(WakeMethods wakeMethods)
    {
        ParkedForData = _head + (long)wakeMethods;
        return !HasData;
    }

    public void Disarm() => ParkedForData = 0;

    /// <summary>Parks the writer, which saw this head last.</summary>
    public bool ParkForSpace(long seen, WakeMethods wakeMethods)
    {
        ParkedForSpace = seen + (long)wakeMethods;
        return PublishedHead == seen;
    }

    public void UnparkForSpace() => ParkedForSpace = 0;

    /// <summary>A record and its expected position.</summary>
    internal sealed record Record(byte[] Payload, byte Kind, long Start, long End);
}
