using System.Diagnostics;
using System.Numerics;
using System.Runtime.InteropServices;
using RpcOverShm.Systems;

namespace RpcOverShm.Topics;

/// <summary>
/// One mapped segment of a topic, the sole owner of its address. An access after <see cref="Dispose"/> faults; this
/// class cannot prevent it.
/// </summary>
internal sealed unsafe class TopicSegment : IDisposable
{
    private readonly MappedMemory _memory;
    private nint _address;

    private TopicSegment(MappedMemory memory, long capacity)
    {
        _memory = memory;
        _address = memory.Address;
        Capacity = capacity;
    }

    /// <summary>The capacity of the ring: a private copy, never read back from the mapping.</summary>
    public long Capacity { get; }

    /// <summary>The position after the last published record. Only the publisher writes it.</summary>
    public ref long Tail => ref Header->Tail;

    /// <summary>Reads the tail of any publisher, of which nothing is checked.</summary>
    public long ReadTail()
    {
        // SYNC topic-tail: only compared.
        return SharedMemoryOrder.ReadAcquire(ref Tail);
    }

    /// <summary>The position of the newest published record. Only the publisher writes it.</summary>
    public ref long NewestRecord => ref Header->NewestRecord;

    /// <summary>The position before which no record is whole any more. Only the publisher writes it.</summary>
    public ref long OldestRecord => ref Header->OldestRecord;

    /// <summary>The first byte of the ring.</summary>
    public byte* Data => (byte*)_address + TopicLayout.HeaderSizeBytes;

    /// <summary>The handle of the memory, which the publisher passes to subscribers.</summary>
    public SafeHandle Handle => _memory.Handle;

    private TopicLayout* Header
    {
        get
        {
            Debug.Assert(_address != 0, "The segment was disposed while something still used it.");
            return (TopicLayout*)_address;
        }
    }

    /// <summary>Creates the segment of a topic of this process, with all its memory.</summary>
    /// <exception cref="SegmentException">A system call failed.</exception>
    public static TopicSegment Create(long capacity, long generation)
    {
        // Any power of two works here, even below the minimum. The options enforce the limits.
        Debug.Assert(BitOperations.IsPow2(capacity), "Positions are masked into the ring.");
        long size = TopicLayout.HeaderSizeBytes + capacity;
        var segment = new TopicSegment(HostSystem.Current.CreateMemory(size, size), capacity);
        TopicLayout* header = segment.Header;
        header->Magic = TopicLayout.MagicValue;
        header->Version = 1;
        header->RingCapacity = capacity;
        header->Generation = generation;
        return segment;
    }

    /// <summary>
    /// Checks a handle of the publisher, maps its segment for reading, with all its memory, and closes the handle.
    /// </summary>
    /// <exception cref="SegmentException">The handle failed a check, or the mapping failed.</exception>
    public static TopicSegment Open(SafeHandle handle, long capacity)
    {
        long size = TopicLayout.HeaderSizeBytes + capacity;
        MappedMemory memory = HostSystem.Current.OpenMemory(handle, size, size);
        try
        {
            memory.CheckRest(); // all of it, as for a data file: no page may lack memory when a reader comes to it
            memory.ReleaseHandle();
            return new TopicSegment(memory, capacity);
        }
        catch
        {
            memory.Dispose();
            throw;
        }
    }

    /// <summary>Releases the memory, after which no reader or writer of it may be used.</summary>
    public void Dispose()
    {
        _address = 0;
        _memory.Dispose();
    }
}
