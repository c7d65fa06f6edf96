using System.Diagnostics;
using System.Numerics;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Segments;

/// <summary>
/// One mapped segment, the sole owner of its address. The link counts the users of the memory and disposes the segment
/// after the last one has left. An access after that faults; this class cannot prevent it. The class does not know
/// rings: it exposes words and the start of the ring data.
/// </summary>
internal sealed unsafe class SharedSegment : IDisposable
{
    private readonly long _sizeBytes;
    private SafeFileHandle? _descriptor;
    private nint _address;

    private SharedSegment(nint address, long ringCapacity, SafeFileHandle? descriptor)
    {
        _address = address;
        _sizeBytes = SegmentLayout.SizeBytes(ringCapacity);
        _descriptor = descriptor;
        RingCapacity = ringCapacity;
    }

    /// <summary>Bytes of ring data: a private copy of the agreed value, never read back from the mapping.</summary>
    public long RingCapacity { get; }

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

    /// <summary>The first byte of the ring data.</summary>
    public byte* Data => (byte*)_address + SegmentLayout.HeaderSizeBytes;

    private SegmentLayout* Header
    {
        get
        {
            Debug.Assert(_address != 0, "The segment was disposed while something still used it.");
            return (SegmentLayout*)_address;
        }
    }

    /// <summary>Creates a segment of this process: sized, with all pages allocated, mapped and sealed.</summary>
    /// <exception cref="SegmentException">A system call failed.</exception>
    public static SharedSegment Create(long ringCapacity, Guid connectionId)
    {
        // Any power of two works here, even below the minimum. The options enforce the limits.
        Debug.Assert(BitOperations.IsPow2(ringCapacity), "Positions are masked into the ring.");
        long sizeBytes = SegmentLayout.SizeBytes(ringCapacity);
        SafeFileHandle descriptor = SegmentMemory.Create(sizeBytes);
        nint address = 0;
        try
        {
            address = SegmentMemory.MapWritable(descriptor, sizeBytes);
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

    /// <summary>Checks a descriptor of the peer, maps its segment read-only, and closes the descriptor.</summary>
    /// <exception cref="SegmentException">The descriptor failed a check, or the mapping failed.</exception>
    public static SharedSegment Open(SafeFileHandle descriptor, long ringCapacity)
    {
        nint address;
        try
        {
            address = SegmentMemory.CheckAndMapReadOnly(descriptor, SegmentLayout.SizeBytes(ringCapacity));
        }
        catch
        {
            // It may be a file of any kind, also one whose close waits for the peer. That of a memory file never waits.
            ForeignHandles.Shared.Close(descriptor);
            throw;
        }

        descriptor.Dispose();
        return new SharedSegment(address, ringCapacity, descriptor: null);
    }

    /// <summary>The descriptor to pass to the peer. A segment of this process has it until it is released.</summary>
    public SafeFileHandle Descriptor =>
        _descriptor ?? throw new InvalidOperationException("The descriptor was passed and released, or is the peer's.");

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
}
