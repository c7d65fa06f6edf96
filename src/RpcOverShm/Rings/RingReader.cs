using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.Rings;

/// <summary>
/// The consumer's side of one ring. Only the holder of the reader role may use it. The ring reader never waits and
/// wakes no thread. It reads each of the peer's words once, into a local, and checks it before use; it copies the
/// header of a record before the check. After an exception the caller must close the connection.
/// </summary>
internal sealed unsafe class RingReader
{
    private readonly SharedSegment _peer;
    private long* _peerTailWord;  // in the peer's segment; after SealTail, the private copy below
    private long[]? _sealedTail;
    private readonly long* _peerParkedForSpaceWord;
    private readonly long* _headWord;
    private readonly long* _parkedForDataWord;

    private byte* _data;          // of the ring in which the reader is
    private long _capacity;
    private long _lazyHeadBytes;
    private uint _maxPayload;
    private long _mostAvailable;  // bytes that an honest peer can have written beyond the head
    private bool _canMove;

    private long _head;           // the position of the next record to read
    private long _next;           // the position after the record that is being read
    private int _currentLength;   // the length of that record's payload
    private long _publishedHead;  // the head that the peer can see
    private long _tail;           // the peer's tail as last read and checked
    private long _lastWakeWord;   // the peer's parked word for which it was last woken
    private volatile WakeMethods _armedFor; // what this side's parked word asks for

    public RingReader(SharedSegment own, SharedSegment peer)
    {
        _peer = peer;
        _peerTailWord = (long*)Unsafe.AsPointer(ref peer.Tail);
        _peerParkedForSpaceWord = (long*)Unsafe.AsPointer(ref peer.ParkedForSpace);
        _headWord = (long*)Unsafe.AsPointer(ref own.Head);
        _parkedForDataWord = (long*)Unsafe.AsPointer(ref own.ParkedForData);
        Use(peer.Data, peer.FirstCapacity);
        _canMove = peer.SecondCapacity > 0;
        _mostAvailable = _capacity + peer.SecondCapacity;
    }

    /// <summary>Whether the peer has published data that was not read yet. A hint: nothing is validated.</summary>
    public bool HasData
    {
        // SYNC ring-tail: only compared; RefreshTail reads it again and validates it.
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _head != _tail || _head != SharedMemoryOrder.ReadAcquire(ref *_peerTailWord);
    }

    /// <summary>
    /// Reads the next record; returns false if there is none. The peer can change the payload at any time: a caller
    /// that does not trust the peer must copy the payload before checking it. After use, the caller calls
    /// <see cref="Release"/>.
    /// </summary>
    /// <exception cref="RingCorruptedException">The tail or the record is invalid.</exception>
    public bool TryRead(out RecordHeader header, out ReadOnlySpan<byte> payload)
    {
        while (_head != _tail || RefreshTail())
        {
            // SAFETY: _head is 16-aligned and before _tail, so at least a header fits there; index is below capacity.
            long index = _head & (_capacity - 1);
            header = ReadHeader(_data + index);
            long length = RecordHeader.RecordLength(header.PayloadLength);
            if (length > _tail - _head || length > _capacity - index)
            {
                throw Corrupted($"a record of {header.PayloadLength} bytes does not fit where it stands");
            }

            if (header.Kind < RecordHeader.MovedKind)
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

            if (header.Kind == RecordHeader.MovedKind)
            {
                Move(header);
                continue;
            }

            // Every record fits at index 0, so no writer pads there. Without this check a peer could keep this loop
            // running for ever with padding that fills the whole ring.
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

    /// <summary>Returns whether the next record has this stream id. A hint: nothing is validated.</summary>
    public bool IsNextOf(uint streamId)
    {
        if (!HasData)
        {
            return false;
        }

        // SAFETY: a header fits at every position of the ring, whatever the peer has written there.
        // SYNC ring-tail: only compared; TryRead reads the record again and validates it.
        return (uint)SharedMemoryOrder.ReadAcquire(ref *(ulong*)(_data + (_head & (_capacity - 1)) + 8)) == streamId;
    }

    /// <summary>The payload of the last record read, with its validated length; valid until its release.</summary>
    public ReadOnlySpan<byte> Current =>
        new(_data + (_head & (_capacity - 1)) + RecordHeader.SizeBytes, _currentLength);

    /// <summary>
    /// Releases the space of the last record read. The head is published lazily, unless the peer is parked for space.
    /// </summary>
    /// <returns>How the caller must wake the peer; see <see cref="PublishHead"/>.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public WakeMethods Release()
    {
        // CRASH record-read: the record was read, but the head does not show it. The peer sees a reader that died with
        // unread data. No other process reads this ring, so nothing is repaired.
        CrashPoint.Reach(CrashPoint.RecordRead);
        _head = _next;
        return _head - _publishedHead >= _lazyHeadBytes || IsPeerParkedForSpace() ? PublishHead() : WakeMethods.None;
    }

    /// <summary>
    /// Publishes the exact head, up to the last release. Returns how the caller must wake the peer, if that is parked
    /// for space, was not woken for this parking yet, and enough space is free.
    /// </summary>
    public WakeMethods PublishHead()
    {
        if (_publishedHead != _head)
        {
            _publishedHead = _head;

            // SYNC ring-head: releases the space. The full fence orders the store of the head before the load of the
            // peer's parked word (StoreLoad).
            SharedMemoryOrder.WriteFenced(ref *_headWord, _head);
        }

        // SYNC parked-for-space: a hostile value harms only the peer: it causes or omits the peer's own wake-up.
        long parked = SharedMemoryOrder.ReadAcquire(ref *_peerParkedForSpaceWord);
        if ((parked & ParkedWord.WakeMethodsMask) == 0
            || parked == _lastWakeWord
            || _head <= (parked & ParkedWord.PositionMask))
        {
            return WakeMethods.None;
        }

        // A wake-up for each record would cost more than the record, and the writer might not find enough space and
        // park again.
        long used = SharedMemoryOrder.ReadAcquire(ref *_peerTailWord) - _head; // SYNC ring-tail: only compared.
        if (used > 0 && _capacity - used < RingLimits.SpaceWakeBytes(_capacity))
        {
            return WakeMethods.None;
        }

        _lastWakeWord = parked;
        return ParkedWord.WakeMethodsOf(parked);
    }

    /// <summary>
    /// Asks the peer for a wake-up when it publishes data beyond <see cref="Position"/>. Returns false if data arrived
    /// meanwhile; if true, the reader may sleep until the low halves of tail and position differ, or until the socket
    /// tells. The caller must first publish the head: otherwise a peer parked for space and a reader parked for data
    /// would wait for each other.
    /// </summary>
    public bool Arm(WakeMethods wakeMethods)
    {
        _armedFor = wakeMethods;

        // SYNC parked-for-data: with the full fence, either the peer sees this word after it stores its next tail, or
        // this thread sees the new tail.
        SharedMemoryOrder.WriteFenced(ref *_parkedForDataWord, _head | (long)wakeMethods);
        return !HasData;
    }

    /// <summary>
    /// Makes the records that the peer has published so far the last ones. The caller has found the peer gone; another
    /// process, such as a child of the peer, may still write.
    /// </summary>
    public void SealTail()
    {
        if (_sealedTail is not null)
        {
            return;
        }

        long[] copy = GC.AllocateUninitializedArray<long>(1, pinned: true);

        // SYNC ring-tail: as any other load of the tail, RefreshTail validates it.
        copy[0] = SharedMemoryOrder.ReadAcquire(ref *_peerTailWord);

        // Threads without the reader role follow the pointer in HasData.
        Interlocked.MemoryBarrier();
        _peerTailWord = (long*)Unsafe.AsPointer(ref MemoryMarshal.GetArrayDataReference(copy));
        _sealedTail = copy;
    }

    /// <summary>
    /// Withdraws the request. Only the reader writes the word: a peer that cleared it could clear a newer request.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Disarm()
    {
        if (_armedFor != WakeMethods.None)
        {
            _armedFor = WakeMethods.None;

            // SYNC parked-for-data: a stale value costs the peer one needless wake-up.
            SharedMemoryOrder.WriteRelease(ref *_parkedForDataWord, 0);
        }
    }

    /// <summary>The position up to which this side has read.</summary>
    public long Position => _head;

    /// <summary>The ways to wake for which the reader is armed. Without the reader role a hint.</summary>
    public WakeMethods ArmedFor => _armedFor;

    // SYNC parked-for-space: a hint, loaded without a fence, so it may be stale. Before the reader parks, it publishes
    // the exact head; PublishHead then loads the word again after a fence.
    private bool IsPeerParkedForSpace() =>
        (SharedMemoryOrder.ReadAcquire(ref *_peerParkedForSpaceWord) & ParkedWord.WakeMethodsMask) != 0;

    private bool RefreshTail()
    {
        // SYNC ring-tail: the records before the tail are complete and visible after this load.
        long tail = SharedMemoryOrder.ReadAcquire(ref *_peerTailWord);
        long available = tail - _head;
        if (tail < _tail || available > _mostAvailable || (tail & 15) != 0)
        {
            throw Corrupted($"its tail is {tail}, after {_tail}");
        }

        _tail = tail;
        return available > 0;
    }

    private void Use(byte* data, long capacity)
    {
        _data = data;
        _capacity = capacity;
        _lazyHeadBytes = RingLimits.LazyHeadBytes(capacity);
        _maxPayload = (uint)RingLimits.MaxPayloadBytes(capacity);
    }

    // The writer goes on in the second ring, at the position after this record. A thread without the reader role that
    // looks meanwhile may take the data of one ring with the capacity of the other; that too is inside of the segment.
    private void Move(in RecordHeader header)
    {
        bool isBare = header is { PayloadLength: 0, Flags: 0, HeadLength: 0, StreamId: 0, Argument: 0 };
        if (!_canMove || !isBare)
        {
            throw Corrupted(_canMove
                ? "a move has other fields than its kind"
                : "its writer moves, but there is no ring to move to");
        }

        try
        {
            _peer.CheckSecond();
        }
        catch (SegmentException exception)
        {
            throw Corrupted(exception.Message);
        }

        _canMove = false;
        _head += RecordHeader.SizeBytes;
        Use(_peer.SecondData, _peer.SecondCapacity);
        _mostAvailable = _capacity;
        if (_tail - _head > _capacity)
        {
            throw Corrupted("more was written than fits into its second ring");
        }
    }

    // Two loads copy the header into private memory. A check in place would be a TOCTOU: the peer can change it.
    private static RecordHeader ReadHeader(byte* place)
    {
        // SYNC ring-tail: the load of the tail made the record visible; this load only reads it exactly once.
        ulong first = SharedMemoryOrder.ReadAcquire(ref *(ulong*)place);

        // SYNC ring-tail: likewise.
        ulong second = SharedMemoryOrder.ReadAcquire(ref *(ulong*)(place + 8));
        return RecordHeader.FromWords(first, second);
    }

    private RingCorruptedException Corrupted(string what) =>
        new($"The peer's ring is corrupted: {what} (position {_head}, tail {_tail}, capacity {_capacity}).");
}

/// <summary>
/// Invalid content in the peer's half of a ring: a position moved backwards or too far, or a record is impossible. The
/// connection is closed; nothing is repaired or skipped.
/// </summary>
internal sealed class RingCorruptedException(string message) : Exception(message);
