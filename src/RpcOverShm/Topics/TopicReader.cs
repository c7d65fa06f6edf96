using System.Diagnostics;
using System.Runtime.CompilerServices;
using RpcOverShm.Rings;
using RpcOverShm.Systems;

namespace RpcOverShm.Topics;

/// <summary>
/// The reading side of one subscriber of a topic. The caller must call it from one thread at a time. The reader never
/// waits. It writes nothing: what it tells the publisher is in the frames of its call. The publisher may
/// overwrite a record at any time, so each is copied first, and the copy counts only if the publisher had not begun
/// with that by then. After an exception the caller must end the link.
/// </summary>
internal sealed unsafe class TopicReader
{
    private readonly long* _tailWord;
    private readonly long* _newestRecordWord;
    private readonly long* _oldestRecordWord;
    private readonly byte* _data;
    private readonly long _capacity;
    private readonly uint _maxPayload;

    private long _position;      // of the next record to read
    private long _next;          // after the record that was found
    private long _expected;      // the number of the next message, if none is lost
    private long _sequence;      // of the record that was found
    private int _length;         // of its payload
    private long _tail;          // the publisher's tail as last read and checked
    private long _oldest;        // its oldest record as last read and checked
    private bool _hasSkipped;    // whether messages may be missing before the next record

    /// <summary>Begins at a start that the publisher has named for this subscriber.</summary>
    /// <exception cref="RingCorruptedException">No record can begin there.</exception>
    public TopicReader(TopicSegment topic, TopicStart start)
    {
        _tailWord = (long*)Unsafe.AsPointer(ref topic.Tail);
        _newestRecordWord = (long*)Unsafe.AsPointer(ref topic.NewestRecord);
        _oldestRecordWord = (long*)Unsafe.AsPointer(ref topic.OldestRecord);
        _data = topic.Data;
        _capacity = topic.Capacity;
        _maxPayload = (uint)TopicLimits.MaxPayloadBytes(_capacity);
        _position = start.Position;
        _tail = start.Position;
        _expected = start.Sequence;
        if (start.Position < 0 || (start.Position & 15) != 0 || start.Sequence < 0)
        {
            throw Corrupted($"a subscriber is to begin there with message {start.Sequence}");
        }
    }

    /// <summary>The position up to which this subscriber has read.</summary>
    public long Position => _position;

    /// <summary>Whether there is more than was read. A hint: nothing is validated.</summary>
    public bool HasData
    {
        // SYNC topic-tail: only compared; RefreshTail reads it again and validates it.
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => (_position != _tail || _position != SharedMemoryOrder.ReadAcquire(ref *_tailWord));
    }

    /// <summary>
    /// Looks at the next record. For a message, <see cref="TryCopy"/> follows. If the reader is lapped, only
    /// <see cref="SkipToNewest"/> helps.
    /// </summary>
    /// <exception cref="RingCorruptedException">A word of the publisher or the record is invalid.</exception>
    public TopicState TryRead(out TopicRecord record)
    {
        record = default;
        while (_position != _tail || RefreshTail())
        {
            // SAFETY: the position is 16-aligned, so a header fits at every index below the capacity.
            long index = _position & (_capacity - 1);
            RecordHeader header = ReadHeader(_data + index);
            if (RefreshOldest())
            {
                return TopicState.Lapped;
            }

            // The publisher had not begun to overwrite this header when it was read: all of it is of one record.
            _next = _position + CheckedLength(header, index);
            if (header.Kind == RecordHeader.PaddingKind)
            {
                _position = _next;
                continue;
            }

            record = Check(header);
            return TopicState.Message;
        }

        return TopicState.Empty;
    }

    /// <summary>
    /// Copies the payload of the record that was found, and goes on to the next one. Returns false if the publisher has
    /// overwritten it meanwhile: then the copy is useless, and the reader is lapped.
    /// </summary>
    /// <param name="payload">As many bytes as the record has.</param>
    /// <exception cref="RingCorruptedException">A word of the publisher is invalid.</exception>
    public bool TryCopy(Span<byte> payload)
    {
        Debug.Assert(_next > _position && payload.Length == _length, "A record was found, of this length.");

        // SAFETY: the record was checked to end before the end of the data, with a private copy of its length.
        // SYNC topic-oldest: the bytes may change meanwhile. The word is loaded after them.
        SharedMemoryOrder.Copy(_data + (_position & (_capacity - 1)) + RecordHeader.SizeBytes, payload);
        if (RefreshOldest())
        {
            return false;
        }

        _position = _next;
        _expected = _sequence + 1;
        _hasSkipped = false;
        return true;
    }

    /// <summary>Goes on with the newest record, unless the reader is there already.</summary>
    /// <exception cref="RingCorruptedException">A word of the publisher is invalid.</exception>
    public void SkipToNewest()
    {
        RefreshOldest();
        RefreshTail();

        // SYNC topic-newest: loaded after the tail, so it is the last record before that or a later one.
        long newest = SharedMemoryOrder.ReadAcquire(ref *_newestRecordWord);
        if (newest < _oldest || (newest & 15) != 0)
        {
            throw Corrupted($"its newest record is at {newest}, its oldest at {_oldest}");
        }

        // What the publisher has not shown yet begins at the tail.
        SkipTo(Math.Min(newest, _tail));
    }

    private void SkipTo(long position)
    {
        if (position > _position)
        {
            _position = position;
            _hasSkipped = true;
        }
    }

    /// <summary>Returns the position after the last record that is published now.</summary>
    /// <exception cref="RingCorruptedException">The word of the publisher is invalid.</exception>
    public long ReadTail()
    {
        RefreshTail();
        return _tail;
    }

    private bool RefreshTail()
    {
        // SYNC topic-tail: the records before the tail are complete and visible after this load.
        long tail = SharedMemoryOrder.ReadAcquire(ref *_tailWord);
        if (tail < _tail || (tail & 15) != 0)
        {
            throw Corrupted($"its tail is {tail}, after {_tail}");
        }

        _tail = tail;
        return tail != _position;
    }

    // Returns whether the reader is lapped: the publisher has overwritten the record at the position, or may be about
    // to. If not, what was read of that record before this call is whole.
    private bool RefreshOldest()
    {
        // SYNC topic-oldest: the publisher stores the word before it overwrites a record.
        long oldest = SharedMemoryOrder.ReadAcquire(ref *_oldestRecordWord);
        if (oldest < _oldest || (oldest & 15) != 0 || _tail - oldest > _capacity)
        {
            throw Corrupted($"its oldest record is at {oldest}, after {_oldest}");
        }

        if (oldest != _oldest)
        {
            _oldest = oldest;
            RefreshTail();
            if (oldest > _tail)
            {
                throw Corrupted($"its oldest record is at {oldest}, beyond the tail");
            }
        }

        return oldest > _position;
    }

    // Returns the length of a record that lies before the tail and the end of the data.
    private long CheckedLength(in RecordHeader header, long index)
    {
        long length = RecordHeader.RecordLength(header.PayloadLength);
        if (length > _tail - _position || length > _capacity - index)
        {
            throw Corrupted($"a record of {header.PayloadLength} bytes does not fit where it stands");
        }

        // Every record fits at index 0, so no writer pads there.
        if (header.Kind == RecordHeader.PaddingKind && (length != _capacity - index || index == 0))
        {
            throw Corrupted($"padding of {length} bytes is not between a record and the end of the ring");
        }

        return length;
    }

    private TopicRecord Check(in RecordHeader header)
    {
        if (header.Kind != TopicRecord.MessageKind || header.Flags != 0 || header.HeadLength != 0)
        {
            throw Corrupted($"a record has kind {header.Kind}, flags {header.Flags}, head {header.HeadLength}");
        }

        if (header.PayloadLength > _maxPayload)
        {
            throw Corrupted($"a record of {header.PayloadLength} bytes is larger than {_maxPayload}");
        }

        _length = (int)header.PayloadLength;
        _sequence = (long)(header.StreamId | ((ulong)header.Argument << 32));
        long lost = _sequence - _expected;
        if (_sequence < _expected || (lost != 0 && !_hasSkipped))
        {
            throw Corrupted($"message {_sequence} follows, where {_expected} was expected");
        }

        return new TopicRecord(_length, _sequence, lost);
    }

    // Two loads copy the header into private memory: a check in place would be a TOCTOU.
    private static RecordHeader ReadHeader(byte* place)
    {
        // SYNC topic-tail: the load of the tail made the record visible; this load only reads it exactly once.
        ulong first = SharedMemoryOrder.ReadAcquire(ref *(ulong*)place);

        // SYNC topic-tail: likewise.
        ulong second = SharedMemoryOrder.ReadAcquire(ref *(ulong*)(place + 8));
        return RecordHeader.FromWords(first, second);
    }

    private RingCorruptedException Corrupted(string what) =>
        new($"The topic's ring is corrupted: {what} (position {_position}, tail {_tail}, capacity {_capacity}).");
}
