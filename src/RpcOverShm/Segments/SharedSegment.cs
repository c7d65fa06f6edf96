using System.Diagnostics;
using System.Numerics;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Segments;

/// <summary>
/// One mapped segment and the sole holder of its address. Owned by a connection, which counts the users of its memory
/// and disposes the segment when the last has left: after that every access would fault, and nothing here could stop
/// it. Does not know rings: it hands out words and the start of the data.
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

    /// <summary>Bytes of ring data: a private copy of what was agreed, never read back from the mapping.</summary>
    public long RingCapacity { get; }

    /// <summary>Written by the owner, read by the peer: how far the owner's ring is written.</summary>
    public ref long Tail => ref Header->Tail;

    /// <summary>Written by the owner, read by the peer: how far the owner has read the peer's ring.</summary>
    public ref long Head => ref Header->Head;

    /// <summary>Written by the owner, read by the peer: head | 1 while the owner sleeps for data, else 0.</summary>
    public ref long ParkedForData => ref Header->ParkedForData;

    /// <summary>
    /// Written by the owner, read by the peer: head seen | 1 while the owner sleeps for space, else 0.
    /// </summary>
    public ref long ParkedForSpace => ref Header->ParkedForSpace;

    /// <summary>The first byte of the ring's data.</summary>
    public byte* Data => (byte*)_address + SegmentLayout.HeaderSizeBytes;

    private SegmentLayout* Header
    {
        get
        {
            Debug.Assert(_address != 0, "The segment was disposed while something still used it.");
            return (SegmentLayout*)_address;
        }
    }

    /// <summary>Makes a segment of this process: sized, filled with pages, mapped, sealed.</summary>
    /// <exception cref="SegmentException">The system refused a step.</exception>
    public static SharedSegment Create(long ringCapacity, Guid connectionId)
    {
        // Any power of two works here, however small; which sizes may be asked for is checked where they are set.
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

    /// <summary>Maps a segment of the peer read-only, after checking the descriptor. Closes the descriptor.</summary>
    /// <exception cref="SegmentException">The descriptor is not what the peer announced.</exception>
    public static SharedSegment Open(SafeFileHandle descriptor, long ringCapacity)
    {
        using (descriptor)
        {
            nint address = SegmentMemory.CheckAndMapReadOnly(descriptor, SegmentLayout.SizeBytes(ringCapacity));
            return new SharedSegment(address, ringCapacity, descriptor: null);
        }
    }

    /// <summary>
    /// The descriptor to pass to the peer. Only a segment of this process has one, until it is released.
    /// </summary>
    public SafeFileHandle Descriptor =>
        _descriptor ?? throw new InvalidOperationException("The descriptor was passed and released, or is the peer's.");

    /// <summary>Closes the descriptor; the mapping stays.</summary>
    public void ReleaseDescriptor()
    {
        _descriptor?.Dispose();
        _descriptor = null;
    }

    public void Dispose()
    {
        ReleaseDescriptor();

        // This process's own field, not shared memory: only one of two that dispose at once unmaps.
        nint address = Interlocked.Exchange(ref _address, 0);
        if (address != 0)
        {
            SegmentMemory.Unmap(address, _sizeBytes);
        }
    }
}
