using Microsoft.Win32.SafeHandles;
using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>
/// Checks that the memory file of a peer has the pages that it should, before this process reads them: the process that
/// first touches a missing page pays for it, even through a read-only mapping. The peer can remove no page of a sealed
/// file, but it can have the kernel drop those that nobody has written (MADV_PAGEOUT), unless another process had them
/// in its mapping by then. So they are mapped right after they are counted.
/// </summary>
internal static unsafe class PeerPages
{
    // A multiple of the pages of every kernel, with room for the header and first ring.
    private const long PartBytes = 128 << 10;

    private const string AdviceToOwner = "Its owner must allocate the header and first ring before the handshake "
        + "(fallocate), and the second ring before it moves there (MADV_POPULATE_WRITE).";

    private static readonly Lazy<bool> s_canCount = new(ProbeCacheStat, LazyThreadSafetyMode.PublicationOnly);

    /// <summary>
    /// Whether the pages of a part of a file can be counted: cachestat (Linux 6.5), unless a sandbox refuses it. The
    /// other ways are no ways: lseek (SEEK_HOLE) waits for a lock of the file, which the peer can hold for as long as
    /// it likes, and mincore reports pages that are not there if this user may not write to the file.
    /// </summary>
    public static bool CanCount => s_canCount.Value;

    /// <summary>
    /// Checks that the first bytes of the file have all their pages, and takes these into this process's mapping.
    /// </summary>
    /// <param name="descriptor">The file.</param>
    /// <param name="address">The mapping.</param>
    /// <param name="sizeBytes">The bytes from the start that must have pages.</param>
    /// <param name="allocatedBytes">
    /// Without <see cref="CanCount"/>: the memory that the file must occupy, wherever in it that is. Else null.
    /// </param>
    /// <param name="mayWait">
    /// Whether to map pages that are in swap too, for which the caller waits as in a read of them. If not, a part with
    /// such pages is checked only.
    /// </param>
    /// <exception cref="SegmentException">The file has holes, or the system does not say.</exception>
    public static void Take(
        SafeFileHandle descriptor, nint address, long sizeBytes, long? allocatedBytes, bool mayWait)
    {
        if (allocatedBytes is { } least)
        {
            CheckAllocated(descriptor, least);
            if (mayWait)
            {
                Map(address, sizeBytes);
            }

            return;
        }

        for (long start = 0; start < sizeBytes; start += PartBytes)
        {
            long length = Math.Min(PartBytes, sizeBytes - start);
            Check(descriptor, start, length, out bool hasSwapped);
            if (mayWait || !hasSwapped)
            {
                Map(address + (nint)start, length);
            }
        }
    }

    private static void CheckAllocated(SafeFileHandle descriptor, long least)
    {
        FileFacts facts;
        try
        {
            facts = FileFacts.OfDescriptor(descriptor);
        }
        catch (IOException exception)
        {
            throw new SegmentException(exception.Message, exception);
        }

        if (facts.AllocatedBytes < least)
        {
            throw new SegmentException(
                $"The peer's memory file has holes: {facts.AllocatedBytes} of its {facts.SizeBytes} bytes are "
                + $"allocated, and {least} are needed. {AdviceToOwner}");
        }
    }

    private static void Check(SafeFileHandle descriptor, long start, long length, out bool hasSwapped)
    {
        var range = new LinuxNative.CacheRange { Start = (ulong)start, Length = (ulong)length };
        var facts = default(LinuxNative.CacheFacts);
        if (LinuxNative.CacheStat(SystemCallNumbers.CacheStat, descriptor, &range, &facts, 0) != 0)
        {
            throw new SegmentException(
                $"Cannot count the pages of the peer's memory file: {LinuxNative.LastErrorText()}. Its owner must "
                + "pass the descriptor that it has created, which is open for writing.");
        }

        // What is in swap stays its owner's.
        hasSwapped = facts.Evicted > 0;
        ulong present = facts.Cached + facts.Evicted;
        long needed = (length + Environment.SystemPageSize - 1) / Environment.SystemPageSize;
        if (present < (ulong)needed)
        {
            throw new SegmentException(
                $"The peer's memory file has holes: of {needed} pages from byte {start} on, {present} are there. "
                + AdviceToOwner);
        }
    }

    private static void Map(nint address, long length)
    {
        // Both advices came with the same version of Linux, 5.14.
        if (SegmentMemory.CanAllocateMapped
            && LinuxNative.MAdvise(address, (nuint)length, LinuxNative.MadvPopulateRead) != 0)
        {
            throw new SegmentException($"Cannot map the peer's memory: {LinuxNative.LastErrorText()}.");
        }
    }

    private static bool ProbeCacheStat()
    {
        using SafeFileHandle probe = SegmentMemory.CreateEmpty();
        LinuxNative.CacheRange range = default;
        LinuxNative.CacheFacts facts;
        return LinuxNative.CacheStat(SystemCallNumbers.CacheStat, probe, &range, &facts, 0) == 0;
    }
}
