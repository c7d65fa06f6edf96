using System.Diagnostics;
using System.Runtime.CompilerServices;
using RpcOverShm.Segments;

namespace RpcOverShm.Rings;

/// <summary>
/// The producer's side of one ring. One thread at a time (its owner serialises them). Never waits and never
/// wakes anybody: where the peer must be rung it says so. Positions only grow; what is private here is never read
/// back from the segment.
/// <code>
///    head (the peer's word)                      published tail      tail (private)
///      |                                               |               |
///  ----+-----------------------------------------------+---------------+--------------
///      | records the peer may still read               | claimed, not  |  free
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
    private long _publishedTail;  // what the peer can see of it
    private long _head;           // the peer's head as last read and checked
    private long _lastRung;       // the parked word that the peer was last rung for

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

    /// <summary>The largest payload of one record.</summary>
    public int MaxPayloadBytes => _maxPayload;

    /// <summary>True when committed records are not visible to the peer yet.</summary>
    public bool HasUnpublished => _tail != _publishedTail;

    /// <summary>Bytes committed and not yet published.</summary>
    public long UnpublishedBytes => _tail - _publishedTail;

    /// <summary>
    /// Finds room for a record. On success the payload may be filled until <see cref="Commit"/>; without a
    /// commit nothing has happened. On failure nothing is reserved: no padding is left behind, the same claim can
    /// simply be tried again.
    /// </summary>
    /// <param name="payloadLength">Bytes of payload, at most <see cref="MaxPayloadBytes"/>.</param>
    /// <param name="isControl">Control records may use the space that data leaves free.</param>
    /// <param name="claim">The place found.</param>
    /// <exception cref="RingCorruptedException">The peer's head is impossible.</exception>
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

        // SAFETY: index + padding is 16-aligned and either `index` or 0; needed fits before the end of the data, and
        // the free space was checked against the peer's validated head.
        byte* place = _data + (padding > 0 ? 0 : index);
        claim = new RingClaim(new Span<byte>(place + RecordHeader.SizeBytes, payloadLength), padding);
        return true;
    }

    /// <summary>
    /// Completes a claim: writes the padding, if any, and the header. The peer sees it after <see cref="Publish"/>.
    /// </summary>
    public void Commit(in RingClaim claim, in RecordHeader header)
    {
        Debug.Assert(header.PayloadLength == claim.Payload.Length, "The header describes the claimed payload.");
        if (claim.PaddingBytes > 0)
        {
            // SAFETY: the claim checked that the remainder, at least 16 bytes because everything
            // is 16-aligned, is free.
            uint length = (uint)claim.PaddingBytes - RecordHeader.SizeBytes;
            *(RecordHeader*)(_data + (_tail & (_capacity - 1))) =
                new RecordHeader(length, RecordHeader.PaddingKind, 0, 0, 0, 0);
            _tail += claim.PaddingBytes;
        }

        *(RecordHeader*)(_data + (_tail & (_capacity - 1))) = header;
        _tail += RecordHeader.RecordLength(claim.Payload.Length);
    }

    /// <summary>
    /// Makes all committed records visible. True when the peer sleeps at a position before them and was not rung for it
    /// yet: the caller then wakes everybody who sleeps on this ring's tail word.
    /// </summary>
    public bool Publish()
    {
        _publishedTail = _tail;

        // SYNC ring-tail: releases the records. The full fence orders the tail before the look at the peer's
        // parked word; the peer stores parked, fences, and looks at the tail. Whichever fence is second
        // sees the other's store.
        SharedMemoryOrder.WriteFenced(ref *_tailWord, _tail);

        // SYNC parked-for-data: any value is harmless, it only causes or omits a ring.
        long parked = SharedMemoryOrder.ReadAcquire(ref *_peerParkedForDataWord);
        if ((parked & 1) == 0 || parked == _lastRung || _tail <= (parked & ~1L))
        {
            return false;
        }

        _lastRung = parked;
        return true;
    }

    /// <summary>
    /// Announces that this side sleeps until the peer has read on. Returns the head to sleep on, or null when the peer
    /// has read meanwhile and the claim should be tried again.
    /// </summary>
    public long? ParkForSpace()
    {
        long seen = _head;

        // SYNC parked-for-space: with the full fence, either the peer sees this word after its next head, or the
        // new head is seen below.
        SharedMemoryOrder.WriteFenced(ref *_parkedForSpaceWord, seen | 1);
        RefreshHead();
        return _head == seen ? seen : null;
    }

    /// <summary>Takes the announcement back, whatever the reason for waking.</summary>
    public void UnparkForSpace()
    {
        // SYNC parked-for-space: a stale value costs the peer one needless ring.
        SharedMemoryOrder.WriteRelease(ref *_parkedForSpaceWord, 0);
    }

    private void RefreshHead()
    {
        // SYNC ring-head: what lies before the head may be overwritten after this.
        long head = SharedMemoryOrder.ReadAcquire(ref *_peerHeadWord);
        if (head < _head || head > _publishedTail || (head & 15) != 0)
        {
            throw new RingCorruptedException(
                $"The peer says it has read up to {head}; it had read {_head}, and {_publishedTail} was written.");
        }

        _head = head;
    }
}

/// <summary>
/// Room for one record, handed out by <see cref="RingWriter.TryClaim"/>. Dropping it aborts the claim.
/// </summary>
internal readonly ref struct RingClaim(Span<byte> payload, long paddingBytes)
{
    /// <summary>Where the payload goes: memory that the peer can see but does not look at before the commit.</summary>
    public readonly Span<byte> Payload = payload;

    /// <summary>Bytes up to the end of the data that must be padded first; 0 for none.</summary>
    public readonly long PaddingBytes = paddingBytes;
}
