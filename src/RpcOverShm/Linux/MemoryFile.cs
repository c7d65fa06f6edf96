using Microsoft.Win32.SafeHandles;
using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>One mapping of a memory file, of its owner or of the peer.</summary>
internal sealed class MemoryFile : MappedMemory
{
    private SafeFileHandle? _descriptor; // the owner's until it is passed, the peer's until the rest is checked
    private readonly long? _allocatedForRest; // what the file must occupy for the rest, if no page can be counted

    private MemoryFile(nint address, long sizeBytes, SafeFileHandle descriptor, long? allocatedForRest = null)
        : base(address, sizeBytes)
    {
        _descriptor = descriptor;
        _allocatedForRest = allocatedForRest;
    }

    public override SafeFileHandle Handle =>
        _descriptor ?? throw new InvalidOperationException("The descriptor was passed and released.");

    /// <summary>As <see cref="HostSystem.CreateMemory"/>.</summary>
    public static MemoryFile Create(long sizeBytes, long firstBytes) =>
        Create(sizeBytes, firstBytes, SegmentMemory.CanAllocateMapped);

    /// <summary>
    /// Does the same on a kernel that can, or cannot, give the rest its memory later. If it cannot, all have memory.
    /// </summary>
    public static MemoryFile Create(long sizeBytes, long firstBytes, bool canAllocateMapped)
    {
        long allocatedBytes = canAllocateMapped ? firstBytes : sizeBytes;
        SafeFileHandle descriptor = SegmentMemory.Create(sizeBytes, allocatedBytes);
        nint address = 0;
        try
        {
            address = SegmentMemory.MapWritable(descriptor, sizeBytes, allocatedBytes);
            SegmentMemory.Seal(descriptor);
            return new MemoryFile(address, sizeBytes, descriptor);
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

    /// <summary>As <see cref="HostSystem.OpenMemory"/>.</summary>
    public static MemoryFile Open(SafeFileHandle descriptor, long sizeBytes, long firstBytes) =>
        Open(descriptor, sizeBytes, firstBytes, PeerPages.CanCount);

    /// <summary>Does the same on a kernel that can, or cannot, count the pages of a part of a file.</summary>
    public static MemoryFile Open(SafeFileHandle descriptor, long sizeBytes, long firstBytes, bool canCount)
    {
        nint address = 0;
        try
        {
            address = SegmentMemory.CheckAndMapReadOnly(descriptor, sizeBytes);

            PeerPages.Take(descriptor, address, firstBytes, canCount ? null : firstBytes, mayWait: false);
            return new MemoryFile(
                address, sizeBytes, descriptor, canCount ? null : AllocatedForRest(descriptor, sizeBytes, firstBytes));
        }
        catch
        {
            if (address != 0)
            {
                SegmentMemory.Unmap(address, sizeBytes);
            }

            // It may be a file of any kind, also one whose close waits for the peer. That of a memory file never waits.
            ForeignHandles.Shared.Close(descriptor);
            throw;
        }
    }

    // The range begins at the start: the second ring may begin within a page.
    public override string? TryAllocateRest() => SegmentMemory.CanAllocateMapped
        ? SegmentMemory.TryAllocate(Address, SizeBytes)
        : null;

    // The descriptor is closed after the first check: memory that is there stays.
    public override void CheckRest()
    {
        if (_descriptor is not null)
        {
            PeerPages.Take(_descriptor, Address, SizeBytes, _allocatedForRest, mayWait: true);
            ReleaseHandle();
        }
    }

    public override void ReleaseHandle()
    {
        _descriptor?.Dispose();
        _descriptor = null;
    }

    protected override void Unmap(nint address, long sizeBytes) => SegmentMemory.Unmap(address, sizeBytes);

    // A sealed file gets no more pages behind its end, so only its rings can grow from now on. An owner that cannot
    // give its second ring memory later has done so already.
    private static long AllocatedForRest(SafeFileHandle descriptor, long sizeBytes, long firstBytes) =>
        SegmentMemory.CanAllocateMapped
            ? FileFacts.OfDescriptor(descriptor).AllocatedBytes + sizeBytes - firstBytes
            : sizeBytes;
}
