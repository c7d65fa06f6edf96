using System.Diagnostics;
using System.Runtime.CompilerServices;
using RpcOverShm.Segments;

namespace RpcOverShm.Rings;

/// <summary>
/// The producer's side of one ring. The owner must call it from one thread at a time. The writer never waits and wakes
/// no thread; it returns whether the caller must wake the peer. Positions only grow. Private state is never read back
/// from the segment.
/// <code>
///    head (the peer's word)                      published tail      tail (private)
///      |                                               |               |
///  ----+-----------------------------------------------+---------------+--------------
///      | records the peer may still read               | committed, not|  free
///                                                        yet visible
/// </code>
/// </summary>
internal sealed unsafe class RingWriter
{
    private readonly byte* _data;
    private readonly long* _tailWord;
    private readonly long* _parkedForSpaceWord;
    private readonly long* _peerHeadWord;
    private readonly long* _peerParkedForDataWord;
    private readonly long _capacity;
    private readonly long _controlReserve;
    private readonly int _maxPayload;

    private long _tail;           // the position after the last committed record
    private long _publishedTail;  // the tail that the peer can see
    private long _head;           // the peer's head as last read and checked
    private long _lastWakeWord;   // the peer's parked word for which it was last woken

    public RingWriter(SharedSegment own, SharedSegment peer)
    {
        _data = own.Data;
        _tailWord = (long*)Unsafe.AsPointer(ref own.Tail);
        _parkedForSpaceWord = (long*)Unsafe.AsPointer(ref own.ParkedForSpace);
        _peerHeadWord = (long*)Unsafe.AsPointer(ref peer.Head);
        _peerParkedForDataWord = (long*)Unsafe.AsPointer(ref peer.ParkedForData);
        _capacity = own.RingCapacity;
        _controlReserve = RingLimits.ControlReserveBytes(_capacity);
        _maxPayload = RingLimits.MaxPayloadBytes(_capacity);
    }

    public int MaxPayloadBytes => _maxPayload;

    /// <summary>Whether committed records are not published yet.</summary>
    public bool HasUnpublished => _tail != _publishedTail;

    public long UnpublishedBytes => _tail - _publishedTail;

    /// <summary>
    /// Finds space for a record. If it returns true, the caller may fill the payload until <see cref="Commit"/>;
    /// without a commit the claim has no effect. If it returns false, nothing is reserved and no padding was written,
    /// so the caller can retry the same claim.
    /// </summary>
    /// <param name="payloadLength">Bytes of payload, at most <see cref="MaxPayloadBytes"/>.</param>
    /// <param name="isControl">Whether the record may use the space that data records leave free.</param>
    /// <param name="claim">The claimed space.</param>
    /// <exception cref="RingCorruptedException">The peer's head is invalid.</exception>
    public bool TryClaim(int payloadLength, bool isControl, out RingClaim claim)
    {
        Debug.Assert((uint)payloadLength <= (uint)_maxPayload, "The caller cuts what is larger into chunks.");
        long needed = RecordHeader.RecordLength(payloadLength);
        long index = _tail & (_capacity - 1);
        long padding = index + needed > _capacity ? _capacity - index : 0;
        long limit = isControl ? _capacity : _capacity - _controlReserve;
        if (_tail + padding + needed - _head > limit)
        {
            RefreshHead();
            if (_tail + padding + needed - _head > limit)
            {
                claim = default;
                return false;
            }
        }

        // SAFETY: the record starts 16-aligned at `index` or, after padding, at 0; `needed` bytes fit before the end of
        // the data, and the free space was checked against the peer's validated head.
        byte* place = _data + (padding > 0 ? 0 : index);
        claim = new RingClaim(new Span<byte>(place + RecordHeader.SizeBytes, payloadLength), padding);
        return true;
    }

    /// <summary>
    /// Commits a claim: writes any padding and the header. The record becomes visible with <see cref="Publish"/>.
    /// </summary>
    public void Commit(in RingClaim claim, in RecordHeader header)
    {
        Debug.Assert(header.PayloadLength == claim.Payload.Length, "The header describes the claimed payload.");
        if (claim.PaddingBytes > 0)
        {
            // SAFETY: the claim checked that the remainder is free. It has at least 16 bytes: positions are 16-aligned.
            uint length = (uint)claim.PaddingBytes - RecordHeader.SizeBytes;
            *(RecordHeader*)(_data + (_tail & (_capacity - 1))) =
                new RecordHeader(length, RecordHeader.PaddingKind, 0, 0, 0, 0);
            _tail += claim.PaddingBytes;
        }

        *(RecordHeader*)(_data + (_tail & (_capacity - 1))) = header;
        _tail += RecordHeader.RecordLength(claim.Payload.Length);
    }

    /// <summary>
    /// Publishes all committed records. Returns whether the caller must wake all sleepers on this ring's tail word: the
    /// peer is armed at a position before the new tail and was not woken for it yet.
    /// </summary>
    public bool Publish()
    {
        _publishedTail = _tail;

        // SYNC ring-tail: releases the records. The full fence orders the store of the tail before the load of the
        // peer's parked word (StoreLoad). The peer stores its parked word, fences, and loads the tail. The side that
        // fences second sees the other side's store.
        SharedMemoryOrder.WriteFenced(ref *_tailWord, _tail);

        // SYNC parked-for-data: a hostile value harms only the peer: it causes or omits the peer's own wake-up.
        long parked = SharedMemoryOrder.ReadAcquire(ref *_peerParkedForDataWord);
        if ((parked & 1) == 0 || parked == _lastWakeWord || _tail <= (parked & ~1L))
        {
            return false;
        }

        _lastWakeWord = parked;
        return true;
    }

    /// <summary>
    /// Announces that this side parks until the peer releases space. Returns the head, for the caller to sleep until it
    /// changes, or null if the peer has released space meanwhile: the caller should then retry its claim.
    /// </summary>
    public long? ParkForSpace()
    {
        long seen = _head;

        // SYNC parked-for-space: with the full fence, either the peer sees this word after it stores its next head, or
        // RefreshHead sees the new head.
        SharedMemoryOrder.WriteFenced(ref *_parkedForSpaceWord, seen | 1);
        RefreshHead();
        return _head == seen ? seen : null;
    }

    /// <summary>Withdraws the announcement. Must follow every wake-up, whatever its reason.</summary>
    public void UnparkForSpace()
    {
        // SYNC parked-for-space: a stale value costs the peer one needless wake-up.
        SharedMemoryOrder.WriteRelease(ref *_parkedForSpaceWord, 0);
    }

    private void RefreshHead()
    {
        // SYNC ring-head: the space before the head may be overwritten after this load.
        long head = SharedMemoryOrder.ReadAcquire(ref *_peerHeadWord);
        if (head < _head || head > _publishedTail || (head & 15) != 0)
        {
            throw new RingCorruptedException(
                $"The peer says it has read up to {head}; it had read {_head}, and {_publishedTail} was written.");
        }

        _head = head;
    }
}

/// <summary>Space for one record, from <see cref="RingWriter.TryClaim"/>. Dropping it aborts the claim.</summary>
internal readonly ref struct RingClaim(Span<byte> payload, long paddingBytes)
{
    /// <summary>The memory for the payload. The peer maps it, but does not read it before it is published.</summary>
    public readonly Span<byte> Payload = payload;

    /// <summary>Bytes of padding to write first, up to the end of the ring data; 0 for none.</summary>
    public readonly long PaddingBytes = paddingBytes;
}
