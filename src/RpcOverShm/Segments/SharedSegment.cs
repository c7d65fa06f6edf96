using System.Diagnostics;
using System.Numerics;
using System.Runtime.InteropServices;
using RpcOverShm.Systems;

namespace RpcOverShm.Segments;

/// <summary>
/// One mapped segment, the sole owner of its address. The link counts the users of the memory and disposes the segment
/// after the last one has left. An access after that faults; this class cannot prevent it. The class does not know
/// rings: it exposes words and the places of the ring data, and gives the second of them its memory.
/// </summary>
internal sealed unsafe class SharedSegment : IDisposable
{
    private readonly MappedMemory _memory;
    private nint _address; // of the memory, one load away: each access to a word needs it

    /// <summary>Takes memory of the size for a ring over.</summary>
    public SharedSegment(MappedMemory memory, long ringCapacity)
    {
        _memory = memory;
        _address = memory.Address;
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

    /// <summary>
    /// A number that differs each time that the owner, a client, begins to sleep for messages of topics, with bit 0
    /// set while it sleeps. Only the owner writes it.
    /// </summary>
    public ref long TopicParking => ref Header->TopicParking;

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
    /// Creates a segment of this process, with memory for its header and first ring. The second ring has memory too if
    /// this system could not give it any later.
    /// </summary>
    /// <exception cref="SegmentException">A system call failed.</exception>
    public static SharedSegment Create(long ringCapacity, Guid connectionId) => Create(
        ringCapacity,
        connectionId,
        HostSystem.Current.CreateMemory(
            SegmentLayout.SizeBytes(ringCapacity), SegmentLayout.FirstSizeBytes(ringCapacity)));

    /// <summary>Does the same in memory of this process, which it takes over.</summary>
    public static SharedSegment Create(long ringCapacity, Guid connectionId, MappedMemory memory)
    {
        // Any power of two works here, even below the minimum. The options enforce the limits.
        Debug.Assert(BitOperations.IsPow2(ringCapacity), "Positions are masked into the ring.");
        var segment = new SharedSegment(memory, ringCapacity);
        SegmentLayout* header = segment.Header;
        header->Magic = SegmentLayout.MagicValue;
        header->Version = 1;
        header->RingCapacity = ringCapacity;
        header->ConnectionId = connectionId;
        return segment;
    }

    /// <summary>
    /// Checks a handle of the peer and maps its segment for reading, with the memory of its first ring. Closes the
    /// handle, unless the segment has a second ring: then it is needed for <see cref="CheckSecond"/>.
    /// </summary>
    /// <exception cref="SegmentException">The handle failed a check, or the mapping failed.</exception>
    public static SharedSegment Open(SafeHandle handle, long ringCapacity)
    {
        MappedMemory memory = HostSystem.Current.OpenMemory(
            handle, SegmentLayout.SizeBytes(ringCapacity), SegmentLayout.FirstSizeBytes(ringCapacity));
        var segment = new SharedSegment(memory, ringCapacity);
        if (segment.SecondCapacity == 0)
        {
            segment.ReleaseHandle();
        }

        return segment;
    }

    /// <summary>Gives this process's second ring its memory. Returns null on success, else the reason.</summary>
    public string? TryAllocateSecond() => _memory.TryAllocateRest();

    /// <summary>
    /// Checks that the peer has given its second ring memory, before that is read. Closes the handle after the first
    /// check.
    /// </summary>
    /// <exception cref="SegmentException">The segment has holes, or the system does not say.</exception>
    public void CheckSecond()
    {
        if (SecondCapacity > 0)
        {
            _memory.CheckRest();
        }
    }

    /// <summary>The handle of the memory, until it is released.</summary>
    public SafeHandle Handle => _memory.Handle;

    /// <summary>Closes the handle; the mapping remains.</summary>
    public void ReleaseHandle() => _memory.ReleaseHandle();

    public void Dispose()
    {
        _address = 0;
        _memory.Dispose();
    }
}
