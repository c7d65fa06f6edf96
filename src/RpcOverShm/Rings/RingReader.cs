using System.Runtime.CompilerServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Segments;

namespace RpcOverShm.Rings;

/// <summary>
/// The consumer's side of one ring. One thread at a time: whoever holds the reader role. Never waits and never wakes
/// anybody. Every word of the peer is read once into a local, checked, and only then used; a record's header is copied
/// before it is looked at. What it throws ends the connection.
/// </summary>
internal sealed unsafe class RingReader
{
    private readonly byte* _data;
    private readonly long* _peerTailWord;
    private readonly long* _peerParkedForSpaceWord;
    private readonly long* _headWord;
    private readonly long* _parkedForDataWord;
    private readonly long _capacity;
    private readonly long _lazyHeadBytes;
    private readonly uint _maxPayload;

    private long _head;           // the position of the next record to read
    private long _next;           // the position after the record that is being read
    private int _currentLength;   // of its payload
    private long _publishedHead;  // what the peer can see of the head
    private long _tail;           // the peer's tail as last read and checked
    private long _lastRung;       // the parked word that the peer was last rung for
    private volatile bool _isArmed; // whether the parked word is set

    public RingReader(SharedSegment own, SharedSegment peer)
    {
        _data = peer.Data;
        _peerTailWord = (long*)Unsafe.AsPointer(ref peer.Tail);
        _peerParkedForSpaceWord = (long*)Unsafe.AsPointer(ref peer.ParkedForSpace);
        _headWord = (long*)Unsafe.AsPointer(ref own.Head);
        _parkedForDataWord = (long*)Unsafe.AsPointer(ref own.ParkedForData);
        _capacity = peer.RingCapacity;
        _lazyHeadBytes = RingLimits.LazyHeadBytes(_capacity);
        _maxPayload = (uint)RingLimits.MaxPayloadBytes(_capacity);
    }

    /// <summary>True when the peer has written something that was not read. A hint: it checks nothing.</summary>
    public bool HasData
    {
        // SYNC ring-tail: only compared; RefreshTail reads it again before anything is believed of it.
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _head != _tail || _head != SharedMemoryOrder.ReadAcquire(ref *_peerTailWord);
    }

    /// <summary>
    /// The next record, or false when there is none. The payload lies in the peer's memory, which the peer can change
    /// at any time: copy it, then look at it, then call <see cref="Release"/>.
    /// </summary>
    /// <exception cref="RingCorruptedException">The peer wrote something impossible.</exception>
    public bool TryRead(out RecordHeader header, out ReadOnlySpan<byte> payload)
    {
        while (_head != _tail || RefreshTail())
        {
            // SAFETY: _head is 16-aligned and before _tail, so that at least a header lies there;
            // index is below capacity.
            long index = _head & (_capacity - 1);
            header = ReadHeader(_data + index);
            long length = RecordHeader.RecordLength(header.PayloadLength);
            if (length > _tail - _head || length > _capacity - index)
            {
                throw Corrupted($"a record of {header.PayloadLength} bytes does not fit where it stands");
            }

            if (header.Kind != RecordHeader.PaddingKind)
            {
                if (header.PayloadLength > _maxPayload)
                {
                    throw Corrupted($"a record of {header.PayloadLength} bytes is larger than {_maxPayload}");
                }

                _next = _head + length;
                _currentLength = (int)header.PayloadLength;
                payload = new ReadOnlySpan<byte>(_data + index + RecordHeader.SizeBytes, (int)header.PayloadLength);
                return true;
            }

            // At the start every record fits, so padding there is no writer's; and without it a peer could keep this
            // loop busy for ever.
            if (length != _capacity - index || index == 0)
            {
                throw Corrupted($"padding of {length} bytes is not between a record and the end of the ring");
            }

            _head += length;
        }

        header = default;
        payload = default;
        return false;
    }

    /// <summary>True when the next record has come and is of this stream. A hint: it checks nothing.</summary>
    public bool IsNextOf(uint streamId)
    {
        if (!HasData)
        {
            return false;
        }

        // SAFETY: there is room for a header at every position of the ring, whatever it says.
        // SYNC ring-tail: only compared; TryRead reads the record again before anything is believed of it.
        return (uint)SharedMemoryOrder.ReadAcquire(ref *(ulong*)(_data + (_head & (_capacity - 1)) + 8)) == streamId;
    }

    /// <summary>
    /// The payload of the record just read, once more, as it was found then: the header is not looked at again.
    /// </summary>
    public ReadOnlySpan<byte> Current =>
        new(_data + (_head & (_capacity - 1)) + RecordHeader.SizeBytes, _currentLength);

    /// <summary>
    /// Gives the space of the record just read back to the peer. True when the peer sleeps for space and there is
    /// enough: the caller then wakes everybody who sleeps on this side's head word.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool Release()
    {
        // CRASH record-read: the record was taken and the head does not say so yet. The peer sees a reader that died
        // with data unread; nobody else ever reads this ring, so nothing is repaired.
        CrashPoint.Reach(CrashPoint.RecordRead);
        _head = _next;
        return (_head - _publishedHead >= _lazyHeadBytes || IsPeerParkedForSpace()) && PublishHead();
    }

    /// <summary>Tells the peer exactly how far this side has read. True when the peer must be woken.</summary>
    public bool PublishHead()
    {
        if (_publishedHead != _head)
        {
            _publishedHead = _head;

            // SYNC ring-head: releases the space. The full fence orders the head before the look at
            // the peer's parked word.
            SharedMemoryOrder.WriteFenced(ref *_headWord, _head);
        }

        // SYNC parked-for-space: any value is harmless, it only causes or omits a ring.
        long parked = SharedMemoryOrder.ReadAcquire(ref *_peerParkedForSpaceWord);
        if ((parked & 1) == 0 || parked == _lastRung || _head <= (parked & ~1L))
        {
            return false;
        }

        // Waking a writer for each record would cost more than the record, and it might not find enough and sleep
        // again.
        long used = SharedMemoryOrder.ReadAcquire(ref *_peerTailWord) - _head; // SYNC ring-tail: only compared.
        if (used > 0 && _capacity - used < RingLimits.SpaceWakeBytes(_capacity))
        {
            return false;
        }

        _lastRung = parked;
        return true;
    }

    /// <summary>
    /// Asks the peer to ring when it writes past what was read. True when the reader may sleep, on a tail that still
    /// has the low half of <see cref="Position"/>; false when data came meanwhile. The caller has published the head
    /// before: a peer that sleeps for space must not meet a reader that sleeps for data.
    /// </summary>
    public bool Arm()
    {
        _isArmed = true;

        // SYNC parked-for-data: with the full fence, either the peer sees this word after its next tail, or the
        // new tail is seen here.
        SharedMemoryOrder.WriteFenced(ref *_parkedForDataWord, _head | 1);
        return !HasData;
    }

    /// <summary>
    /// Takes the request back. Only the reader writes the word: a flag that the peer cleared could be a newer one.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Disarm()
    {
        if (_isArmed)
        {
            _isArmed = false;

            // SYNC parked-for-data: a stale value costs the peer one needless ring.
            SharedMemoryOrder.WriteRelease(ref *_parkedForDataWord, 0);
        }
    }

    /// <summary>How far this side has read.</summary>
    public long Position => _head;

    /// <summary>True while the peer is asked to ring. May be read without the role: a hint then.</summary>
    public bool IsArmed => _isArmed;

    /// <summary>True when the peer is asked to ring for what comes at this position: nobody has read since.</summary>
    public bool IsArmedAt(long position) => _isArmed && _head == position;

    // SYNC parked-for-space: a hint without a fence; PublishHead looks again with one, and the head
    // is exact before parking.
    private bool IsPeerParkedForSpace() => (SharedMemoryOrder.ReadAcquire(ref *_peerParkedForSpaceWord) & 1) != 0;

    private bool RefreshTail()
    {
        // SYNC ring-tail: the records before the tail are complete and visible after this.
        long tail = SharedMemoryOrder.ReadAcquire(ref *_peerTailWord);
        long available = tail - _head;
        if (tail < _tail || available > _capacity || (tail & 15) != 0)
        {
            throw Corrupted($"its tail is {tail}, after {_tail}");
        }

        _tail = tail;
        return available > 0;
    }

    // Two loads into private memory: the header is never looked at in place, where the peer could change it in between.
    private static RecordHeader ReadHeader(byte* place)
    {
        // SYNC ring-tail: the record came with the tail; here it is only read once.
        ulong first = SharedMemoryOrder.ReadAcquire(ref *(ulong*)place);

        // SYNC ring-tail: likewise.
        ulong second = SharedMemoryOrder.ReadAcquire(ref *(ulong*)(place + 8));
        return new RecordHeader(
            (uint)first,
            (byte)(first >> 32),
            (byte)(first >> 40),
            (ushort)(first >> 48),
            (uint)second,
            (uint)(second >> 32));
    }

    private RingCorruptedException Corrupted(string what) =>
        new($"The peer's ring is corrupted: {what} (position {_head}, tail {_tail}, capacity {_capacity}).");
}

/// <summary>
/// The peer's half of a ring makes no sense: a position moved backwards or too far, or a record is impossible. The
/// connection that owns the ring is closed; nothing is repaired or skipped.
/// </summary>
internal sealed class RingCorruptedException(string message) : Exception(message);
