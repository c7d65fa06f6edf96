using System.Diagnostics;
using System.Numerics;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Segments;

/// <summary>
/// One mapped segment, the sole owner of its address. The link counts the users of the memory and disposes the segment
/// after the last one has left. An access after that faults; this class cannot prevent it. The class does not know
/// rings: it exposes words and the places of the ring data, and gives the second of them its memory.
/// </summary>
internal sealed unsafe class SharedSegment : IDisposable
{
    private readonly long _sizeBytes;
    private SafeFileHandle? _descriptor; // the owner's until it is passed, the peer's until the second ring is checked
    private long? _allocatedForMove; // memory that the file must have before its owner moves, if no page can be counted
    private nint _address;

    private SharedSegment(nint address, long ringCapacity, SafeFileHandle? descriptor)
    {
        _address = address;
        _sizeBytes = SegmentLayout.SizeBytes(ringCapacity);
        _descriptor = descriptor;
        RingCapacity = ringCapacity;
    }

    /// <summary>The agreed capacity: a private copy, never read back from the mapping.</summary>
    public long RingCapacity { get; }

    /// <summary>Bytes of the first ring.</summary>
    public long FirstCapacity => SegmentLayout.FirstRingCapacity(RingCapacity);

    /// <summary>Bytes of the second ring; 0 if there is none.</summary>
    public long SecondCapacity => SegmentLayout.SecondRingCapacity(RingCapacity);

    /// <summary>The position up to which the owner has written its ring. Only the owner writes it.</summary>
    public ref long Tail => ref Header->Tail;

    /// <summary>The position up to which the owner has read the peer's ring. Only the owner writes it.</summary>
    public ref long Head => ref Header->Head;

    /// <summary>The owner's head with bit 0 set while it is parked for data; else 0. Only it writes this.</summary>
    public ref long ParkedForData => ref Header->ParkedForData;

    /// <summary>
    /// The peer's head as the owner last read it, with bit 0 set, while the owner is parked for space; else 0. Only the
    /// owner writes it.
    /// </summary>
    public ref long ParkedForSpace => ref Header->ParkedForSpace;

    /// <summary>The first byte of the first ring.</summary>
    public byte* Data => (byte*)_address + SegmentLayout.HeaderSizeBytes;

    /// <summary>The first byte of the second ring. It has no memory before its owner's part of the move.</summary>
    public byte* SecondData => (byte*)_address + SegmentLayout.FirstSizeBytes(RingCapacity);

    private SegmentLayout* Header
    {
        get
        {
            Debug.Assert(_address != 0, "The segment was disposed while something still used it.");
            return (SegmentLayout*)_address;
        }
    }

    /// <summary>
    /// Creates a segment of this process: sized, mapped and sealed, with memory for its header and first ring. The
    /// second ring has memory too if this kernel could not give it any later.
    /// </summary>
    /// <exception cref="SegmentException">A system call failed.</exception>
    public static SharedSegment Create(long ringCapacity, Guid connectionId) =>
        Create(ringCapacity, connectionId, SegmentMemory.CanAllocateMapped);

    /// <summary>Does the same on a kernel that can, or cannot, give the second ring its memory later.</summary>
    public static SharedSegment Create(long ringCapacity, Guid connectionId, bool canAllocateMapped)
    {
        // Any power of two works here, even below the minimum. The options enforce the limits.
        Debug.Assert(BitOperations.IsPow2(ringCapacity), "Positions are masked into the ring.");
        long sizeBytes = SegmentLayout.SizeBytes(ringCapacity);
        long allocatedBytes = canAllocateMapped ? SegmentLayout.FirstSizeBytes(ringCapacity) : sizeBytes;
        SafeFileHandle descriptor = SegmentMemory.Create(sizeBytes, allocatedBytes);
        nint address = 0;
        try
        {
            address = SegmentMemory.MapWritable(descriptor, sizeBytes, allocatedBytes);
            SegmentMemory.Seal(descriptor);
            var header = (SegmentLayout*)address;
            header->Magic = SegmentLayout.MagicValue;
            header->Version = 1;
            header->RingCapacity = ringCapacity;
            header->ConnectionId = connectionId;
            return new SharedSegment(address, ringCapacity, descriptor);
        }
        catch
        {
            if (address != 0)
            {
                SegmentMemory.Unmap(address, sizeBytes);
            }

            descriptor.Dispose();
            throw;
        }
    }

    /// <summary>
    /// Checks a descriptor of the peer and maps its segment read-only, with the pages of its first ring. Closes the
    /// descriptor, unless the segment has a second ring: then it is needed for <see cref="CheckSecond"/>.
    /// </summary>
    /// <exception cref="SegmentException">The descriptor failed a check, or the mapping failed.</exception>
    public static SharedSegment Open(SafeFileHandle descriptor, long ringCapacity) =>
        Open(descriptor, ringCapacity, PeerPages.CanCount);

    /// <summary>Does the same on a kernel that can, or cannot, count the pages of a part of a file.</summary>
    public static SharedSegment Open(SafeFileHandle descriptor, long ringCapacity, bool canCount)
    {
        SharedSegment? segment = null;
        try
        {
            nint address = SegmentMemory.CheckAndMapReadOnly(descriptor, SegmentLayout.SizeBytes(ringCapacity));
            segment = new SharedSegment(address, ringCapacity, descriptor: null);
            segment.TakeFirst(descriptor, canCount);
        }
        catch
        {
            segment?.Dispose();

            // It may be a file of any kind, also one whose close waits for the peer. That of a memory file never waits.
            ForeignHandles.Shared.Close(descriptor);
            throw;
        }

        segment._descriptor = descriptor;
        if (segment.SecondCapacity == 0)
        {
            segment.ReleaseDescriptor();
        }

        return segment;
    }

    /// <summary>Gives this process's second ring its memory. Returns null on success, else the reason.</summary>
    public string? TryAllocateSecond() => SegmentMemory.CanAllocateMapped
        ? SegmentMemory.TryAllocate(_address, _sizeBytes) // From the start: the second ring may begin within a page.
        : null;

    /// <summary>
    /// Checks that the peer has given its second ring memory, before that is read, and maps it. Closes the descriptor
    /// after the first check: memory that is there stays.
    /// </summary>
    /// <exception cref="SegmentException">The segment has holes, or the system does not say.</exception>
    public void CheckSecond()
    {
        if (_descriptor is not null)
        {
            PeerPages.Take(_descriptor, _address, _sizeBytes, _allocatedForMove, mayWait: true);
            ReleaseDescriptor();
        }
    }

    /// <summary>The descriptor of the memory, until it is released.</summary>
    public SafeFileHandle Descriptor =>
        _descriptor ?? throw new InvalidOperationException("The descriptor was passed and released.");

    /// <summary>Closes the descriptor; the mapping remains.</summary>
    public void ReleaseDescriptor()
    {
        _descriptor?.Dispose();
        _descriptor = null;
    }

    public void Dispose()
    {
        ReleaseDescriptor();

        // A private field, not shared memory: if two threads dispose concurrently, only one of them unmaps.
        nint address = Interlocked.Exchange(ref _address, 0);
        if (address != 0)
        {
            SegmentMemory.Unmap(address, _sizeBytes);
        }
    }

    private void TakeFirst(SafeFileHandle descriptor, bool canCount)
    {
        long first = SegmentLayout.FirstSizeBytes(RingCapacity);
        PeerPages.Take(descriptor, _address, first, canCount ? null : first, mayWait: false);
        if (canCount)
        {
            return;
        }

        // A sealed file gets no more pages behind its end, so only its rings can grow from now on. An owner that cannot
        // give its second ring memory later has done so already.
        _allocatedForMove = SegmentMemory.CanAllocateMapped
            ? FileFacts.OfDescriptor(descriptor).AllocatedBytes + SecondCapacity
            : _sizeBytes;
    }
}
