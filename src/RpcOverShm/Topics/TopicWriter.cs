using System.Buffers;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using RpcOverShm.Rings;
using RpcOverShm.Systems;

namespace RpcOverShm.Topics;

/// <summary>
/// The publisher's side of a topic's ring. The caller must call it from one thread at a time. The writer never waits
/// and wakes no thread. Positions and sequence numbers are private; the shared words only show them.
/// <code>
///    oldest record                  newest record   published tail      tail (private)
///      |                                   |               |               |
///  ----+-----------------------------------+---------------+---------------+------------
///  may | whole: anybody may read           | the last one  | not yet       | next; the same bytes
///  be overwritten                                            visible         as those before oldest
/// </code>
/// </summary>
internal sealed unsafe class TopicWriter
{
    private readonly long* _tailWord;
    private readonly long* _newestRecordWord;
    private readonly long* _oldestRecordWord;
    private readonly byte* _data;
    private readonly long _capacity;
    private readonly long _room;
    private readonly long _maxUnpublished;
    private readonly RecordStarts _starts;

    private long _tail;             // the position after the last record
    private long _sequence;         // the number of the next message
    private long _newest;           // the position of the last record
    private long _publishedTail;    // the tail that subscribers can see
    private long _publishedSequence;
    private long _oldest;           // no record before this position is whole
    private long _oldestSequence;

    public TopicWriter(TopicSegment own)
    {
        _tailWord = (long*)Unsafe.AsPointer(ref own.Tail);
        _newestRecordWord = (long*)Unsafe.AsPointer(ref own.NewestRecord);
        _oldestRecordWord = (long*)Unsafe.AsPointer(ref own.OldestRecord);
        _data = own.Data;
        _capacity = own.Capacity;
        _room = TopicLimits.RoomBytes(_capacity);
        _maxUnpublished = TopicLimits.MaxUnpublishedBytes(_capacity);
        _starts = new RecordStarts(TopicLimits.OldestStepBytes(_capacity));
        MaxPayloadBytes = TopicLimits.MaxPayloadBytes(_capacity);
    }

    /// <summary>The largest payload of a message.</summary>
    public int MaxPayloadBytes { get; }

    /// <summary>Where a subscriber begins that wants what is published from now on.</summary>
    public TopicStart Now => new(_publishedTail, _publishedSequence);

    /// <summary>Where a subscriber begins that wants all that the ring still holds.</summary>
    public TopicStart Oldest => new(_oldest, _oldestSequence);

    /// <summary>The position after the last record, published or not.</summary>
    public long Tail => _tail;

    /// <summary>
    /// Returns the position up to which all subscribers that wait must have read before the message has room.
    /// </summary>
    public long NeededHead(int payloadLength) => EndOf(payloadLength) - _room;

    /// <summary>Whether written records are not published yet.</summary>
    public bool HasUnpublished => _tail != _publishedTail;

    /// <summary>
    /// Writes a message, which subscribers see after <see cref="Publish"/>, unless there is no room. Then the caller
    /// must publish what it has written before it waits, and the same call can be repeated.
    /// </summary>
    /// <param name="payload">The message, of at most <see cref="MaxPayloadBytes"/>.</param>
    /// <param name="minimumHead">
    /// The position up to which all subscribers that wait have read; <see cref="long.MaxValue"/> if none waits.
    /// </param>
    public bool TryWrite(in ReadOnlySequence<byte> payload, long minimumHead)
    {
        Debug.Assert(payload.Length <= MaxPayloadBytes, "The caller refuses what is larger.");
        if (EndOf((int)payload.Length) - minimumHead > _room)
        {
            return false;
        }

        payload.CopyTo(Append(TopicRecord.MessageKind, (int)payload.Length));
        _sequence++;
        return true;
    }

    /// <summary>
    /// Shows all written records to the subscribers. A full fence, if there are any. The caller then asks each
    /// link whether it must be rung: <see cref="TopicDoorbell"/>.
    /// </summary>
    public void Publish()
    {
        if (!HasUnpublished)
        {
            return;
        }

        _publishedTail = _tail;
        _publishedSequence = _sequence;

        // SYNC topic-newest: before the tail, so that a subscriber that has loaded the tail finds its last record.
        SharedMemoryOrder.WriteRelease(ref *_newestRecordWord, _newest);

        // SYNC topic-tail: releases the records. The full fence orders the store of the tail before the loads of the
        // links' parked words (StoreLoad).
        SharedMemoryOrder.WriteFenced(ref *_tailWord, _tail);
    }

    private long PaddingBefore(long needed)
    {
        long index = _tail & (_capacity - 1);
        return index + needed > _capacity ? _capacity - index : 0;
    }

    // The position after a record with this payload.
    private long EndOf(int payloadLength)
    {
        long needed = RecordHeader.RecordLength(payloadLength);
        return _tail + PaddingBefore(needed) + needed;
    }

    // Writes the header of the next record, and before it padding if it needs that. Returns the place of the payload.
    private Span<byte> Append(byte kind, int payloadLength)
    {
        if (_tail - _publishedTail >= _maxUnpublished)
        {
            Publish();
        }

        long padding = PaddingBefore(RecordHeader.RecordLength(payloadLength));
        long end = EndOf(payloadLength);
        MakeSpace(end);
        if (padding > 0)
        {
            // SAFETY: the remainder has at least 16 bytes, because positions are 16-aligned.
            *HeaderAt(_tail) = new RecordHeader(
                (uint)padding - RecordHeader.SizeBytes, RecordHeader.PaddingKind, 0, 0, 0, 0);
            _tail += padding;
        }

        // SAFETY: the record starts 16-aligned, and ends before the end of the data.
        *HeaderAt(_tail) = new RecordHeader(
            (uint)payloadLength, kind, 0, 0, (uint)_sequence, (uint)(_sequence >> 32));
        var payload = new Span<byte>((byte*)HeaderAt(_tail) + RecordHeader.SizeBytes, payloadLength);
        _starts.Add(_tail, _sequence);
        _newest = _tail;
        _tail = end;
        return payload;
    }

    private RecordHeader* HeaderAt(long position) => (RecordHeader*)(_data + (position & (_capacity - 1)));

    // What lies a whole ring before the new tail is overwritten. A reader of it must find out: see TopicReader.
    private void MakeSpace(long newTail)
    {
        if (newTail - _capacity <= _oldest)
        {
            return;
        }

        (_oldest, _oldestSequence) = _starts.FirstFrom(newTail - _capacity, new TopicStart(_tail, _sequence));

        // SYNC topic-oldest: the full fence orders this store before those of the record. A subscriber that has copied
        // any of them sees this one when it loads the word afterwards.
        SharedMemoryOrder.WriteFenced(ref *_oldestRecordWord, _oldest);
    }
}
