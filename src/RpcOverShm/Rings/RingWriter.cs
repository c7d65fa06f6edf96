using System.Diagnostics;
using System.Runtime.CompilerServices;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.Rings;

/// <summary>
/// The producer's side of one ring. The owner must call it from one thread at a time. The writer never waits and wakes
/// no thread; it returns whether the caller must wake the peer. Positions only grow. Private state is never read back
/// from the segment.
/// <para>
/// The writer begins in the segment's first ring. If that proves too small, the writer asks for the second one, once;
/// after <see cref="AllowMove"/> it writes a record that says so, and goes on in the second ring at the next position.
/// </para>
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
    private readonly SharedSegment _own;
    private readonly long* _tailWord;
    private readonly long* _parkedForSpaceWord;
    private readonly long* _peerHeadWord;
    private readonly long* _peerParkedForDataWord;

    private byte* _data;          // of the ring in which the writer is
    private long _capacity;
    private long _controlReserve;
    private int _maxPayload;
    private long _start;          // the position at which this ring began
    private volatile RingGrowth _growth;
    private long _fullAt = -1;    // the head at which the ring was full for the first time

    private long _tail;           // the position after the last committed record
    private long _publishedTail;  // the tail that the peer can see
    private long _head;           // the peer's head as last read and checked
    private long _lastWakeWord;   // the peer's parked word for which it was last woken

    public RingWriter(SharedSegment own, SharedSegment peer)
    {
        _own = own;
        _tailWord = (long*)Unsafe.AsPointer(ref own.Tail);
        _parkedForSpaceWord = (long*)Unsafe.AsPointer(ref own.ParkedForSpace);
        _peerHeadWord = (long*)Unsafe.AsPointer(ref peer.Head);
        _peerParkedForDataWord = (long*)Unsafe.AsPointer(ref peer.ParkedForData);
        _growth = own.SecondCapacity > 0 ? RingGrowth.Possible : RingGrowth.Over;
        Use(own.Data, own.FirstCapacity);
    }

    /// <summary>
    /// Runs at most once, inside a claim or <see cref="WantGrowth"/>, when the writer needs the second ring. It must
    /// not wait: another thread gives the ring its memory, and then calls <see cref="AllowMove"/>.
    /// </summary>
    public Action? OnGrowthWanted { get; init; }

    /// <summary>The largest payload of a record in the ring in which the writer is. It can only grow.</summary>
    public int MaxPayloadBytes => _maxPayload;

    /// <summary>The peer's head as it was last read. A hint on other threads than the writing one.</summary>
    public long HeadHint => _head;

    /// <summary>
    /// Whether so much space is free that a reader would wake this side for it. A hint: nothing is validated, and any
    /// thread may ask.
    /// </summary>
    public bool HasSpaceHint
    {
        get
        {
            // SYNC ring-head: only compared; RefreshHead reads it again and validates it.
            long head = SharedMemoryOrder.ReadAcquire(ref *_peerHeadWord);
            return head != _head && _tail - head <= _capacity - RingLimits.SpaceWakeBytes(_capacity);
        }
    }

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
        long needed = RecordHeader.RecordLength(payloadLength);
        if (_growth == RingGrowth.Allowed && HasRoom(RecordHeader.SizeBytes, _capacity))
        {
            claim = ClaimInSecond(payloadLength, needed);
            return true;
        }

        Debug.Assert((uint)payloadLength <= (uint)_maxPayload, "The caller cuts what is larger into parts.");
        long index = _tail & (_capacity - 1);
        long padding = index + needed > _capacity ? _capacity - index : 0;
        if (!HasRoom(padding + needed, isControl ? _capacity : _capacity - _controlReserve))
        {
            NoteFull();
            claim = default;
            return false;
        }

        // SAFETY: the record starts 16-aligned at `index` or, after padding, at 0; `needed` bytes fit before the end of
        // the data, and the free space was checked against the peer's validated head.
        byte* place = _data + (padding > 0 ? 0 : index);
        var payload = new Span<byte>(place + RecordHeader.SizeBytes, payloadLength);
        claim = new RingClaim(payload, padding, isMoving: false);
        return true;
    }

    /// <summary>Asks for the second ring, if there is one: a message needs too many records in the first.</summary>
    public void WantGrowth()
    {
        if (_growth == RingGrowth.Possible)
        {
            _growth = RingGrowth.Wanted;
            OnGrowthWanted?.Invoke();
        }
    }

    /// <summary>
    /// Lets the writer move at one of its next records: the second ring has its memory. Any thread may call this, once,
    /// after <see cref="OnGrowthWanted"/>.
    /// </summary>
    public void AllowMove() => _growth = RingGrowth.Allowed;

    /// <summary>
    /// Commits a claim: writes the header, and before it the record of a move or padding if the claim needs them. The
    /// record becomes visible with <see cref="Publish"/>.
    /// </summary>
    public void Commit(in RingClaim claim, in RecordHeader header)
    {
        Debug.Assert(header.PayloadLength == claim.Payload.Length, "The header describes the claimed payload.");
        if (claim.IsMoving)
        {
            Move();
        }

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
    /// Publishes all committed records. Returns how the caller must wake the peer, if that is armed at a position
    /// before the new tail and was not woken for it yet.
    /// </summary>
    public WakeMethods Publish()
    {
        _publishedTail = _tail;

        // SYNC ring-tail: releases the records. The full fence orders the store of the tail before the load of the
        // peer's parked word (StoreLoad). The peer stores its parked word, fences, and loads the tail. The side that
        // fences second sees the other side's store.
        SharedMemoryOrder.WriteFenced(ref *_tailWord, _tail);

        // SYNC parked-for-data: a hostile value harms only the peer: it causes or omits the peer's own wake-up.
        long parked = SharedMemoryOrder.ReadAcquire(ref *_peerParkedForDataWord);
        if ((parked & ParkedWord.WakeMethodsMask) == 0
            || parked == _lastWakeWord
            || _tail <= (parked & ParkedWord.PositionMask))
        {
            return WakeMethods.None;
        }

        _lastWakeWord = parked;
        return ParkedWord.WakeMethodsOf(parked);
    }

    /// <summary>
    /// Announces that this side parks until the peer releases space. Returns the head, for the caller to sleep until it
    /// changes or the doorbell tells, or null if the peer has released space meanwhile: the caller should then retry
    /// its claim.
    /// </summary>
    public long? ParkForSpace(WakeMethods wakeMethods)
    {
        long seen = _head;

        // SYNC parked-for-space: with the full fence, either the peer sees this word after it stores its next head, or
        // RefreshHead sees the new head.
        SharedMemoryOrder.WriteFenced(ref *_parkedForSpaceWord, seen | (long)wakeMethods);
        RefreshHead();
        return _head == seen ? seen : null;
    }

    /// <summary>Withdraws the announcement. Must follow every wake-up, whatever its reason.</summary>
    public void UnparkForSpace()
    {
        // SYNC parked-for-space: a stale value costs the peer one needless wake-up.
        SharedMemoryOrder.WriteRelease(ref *_parkedForSpaceWord, 0);
    }

    private void Use(byte* data, long capacity)
    {
        _data = data;
        _capacity = capacity;
        _controlReserve = RingLimits.ControlReserveBytes(capacity);
        _maxPayload = RingLimits.MaxPayloadBytes(capacity);
    }

    // What the peer has not read of the first ring takes no space of the second one.
    private long UsedBytes => _tail - Math.Max(_head, _start);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool HasRoom(long bytes, long limit)
    {
        if (UsedBytes + bytes <= limit)
        {
            return true;
        }

        RefreshHead();
        return UsedBytes + bytes <= limit;
    }

    // A peer that reads nothing must not make this side allocate more. So the ring must be full twice, with progress of
    // the peer in between.
    private void NoteFull()
    {
        if (_fullAt < 0)
        {
            _fullAt = _head;
        }
        else if (_fullAt != _head)
        {
            WantGrowth();
        }
    }

    // The second ring is empty, so there is room for every record.
    private RingClaim ClaimInSecond(int payloadLength, long needed)
    {
        long capacity = _own.SecondCapacity;
        long index = (_tail + RecordHeader.SizeBytes) & (capacity - 1);
        long padding = index + needed > capacity ? capacity - index : 0;

        // SAFETY: as in TryClaim, with the second ring's data and capacity.
        byte* place = _own.SecondData + (padding > 0 ? 0 : index);
        return new RingClaim(new Span<byte>(place + RecordHeader.SizeBytes, payloadLength), padding, isMoving: true);
    }

    private void Move()
    {
        // SAFETY: the claim checked that a header is free at the tail; one fits at every index.
        *(RecordHeader*)(_data + (_tail & (_capacity - 1))) =
            new RecordHeader(0, RecordHeader.MovedKind, 0, 0, 0, 0);
        _tail += RecordHeader.SizeBytes;
        _start = _tail;
        _growth = RingGrowth.Over;
        Use(_own.SecondData, _own.SecondCapacity);
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
internal readonly ref struct RingClaim(Span<byte> payload, long paddingBytes, bool isMoving)
{
    /// <summary>The memory for the payload. The peer maps it, but does not read it before it is published.</summary>
    public readonly Span<byte> Payload = payload;

    /// <summary>Bytes of padding to write first, up to the end of the ring data; 0 for none.</summary>
    public readonly long PaddingBytes = paddingBytes;

    /// <summary>Whether the record is the first one in the second ring.</summary>
    public readonly bool IsMoving = isMoving;
}

/// <summary>The way of a writer from the first ring of its segment to the second.</summary>
internal enum RingGrowth
{
    /// <summary>There is no second ring, or the writer is there.</summary>
    Over,

    /// <summary>The first ring was large enough so far.</summary>
    Possible,

    /// <summary>The second ring has no memory yet. If there is none to be had, it stays so.</summary>
    Wanted,

    /// <summary>The next record for which the first ring has room for a header goes to the second ring.</summary>
    Allowed,
}
