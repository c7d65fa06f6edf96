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

    public bool Publish()
    {
        PublishedTail = _tail;
        bool isAsleepBefore = ParkedForData != 0 && PublishedTail > ParkedForData - 1;
        if (!isAsleepBefore || _wokenForData == ParkedForData)
        {
            return false;
        }

        _wokenForData = ParkedForData;
        return true;
    }

    /// <summary>Notes that the reader has found the next record and so has passed the padding before it.</summary>
    public void Peek() => _head = Next!.Start;

    public bool Release()
    {
        _head = _records.Dequeue().End;
        return (_head - PublishedHead >= capacity / 8 || ParkedForSpace != 0) && PublishHead();
    }

    public bool PublishHead()
    {
        PublishedHead = _head;
        bool isAsleepBefore = ParkedForSpace != 0 && _head > ParkedForSpace - 1;
        bool isEmpty = PublishedTail == _head;
        bool isEnough = capacity - (PublishedTail - _head) >= capacity * 3 / 8;
        if (!isAsleepBefore || _wokenForSpace == ParkedForSpace || !(isEmpty || isEnough))
        {
            return false;
        }

        _wokenForSpace = ParkedForSpace;
        return true;
    }

    /// <summary>Arms the reader; returns whether it may sleep.</summary>
    public bool Arm()
    {
        ParkedForData = _head + 1;
        return !HasData;
    }

    public void Disarm() => ParkedForData = 0;

    /// <summary>Parks the writer, which saw this head last.</summary>
    public bool ParkForSpace(long seen)
    {
        ParkedForSpace = seen + 1;
        return PublishedHead == seen;
    }

    public void UnparkForSpace() => ParkedForSpace = 0;

    /// <summary>A record and its expected position.</summary>
    internal sealed record Record(byte[] Payload, byte Kind, long Start, long End);
}
