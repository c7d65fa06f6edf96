using System.Runtime.CompilerServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Linux;
using RpcOverShm.Segments;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// A segment whose owner wants its reader to pay for pages: it has other pages than it should, and looks as if it had
/// the right ones. Counts the pages that are there.
/// </summary>
internal sealed unsafe class HollowSegment : IDisposable
{
    private const int KeepSize = 1;      // FALLOC_FL_KEEP_SIZE
    private const int PageOutAdvice = 21; // MADV_PAGEOUT

    private readonly long _sizeBytes;
    private readonly SafeFileHandle _file;
    private readonly nint _mapping;

    private HollowSegment(long ringCapacity, Action<HollowSegment> allocate)
    {
        _sizeBytes = SegmentLayout.SizeBytes(ringCapacity);
        _file = Descriptors.MemoryFile(_sizeBytes, seals: 0, allocatedBytes: 0);
        _mapping = LinuxNative.MMap(
            0,
            (nuint)_sizeBytes,
            LinuxNative.ProtRead | LinuxNative.ProtWrite,
            LinuxNative.MapShared,
            _file,
            0);
        allocate(this);
        SegmentMemory.Seal(_file);
        var descriptor = new SafeFileHandle(_file.DangerousGetHandle(), ownsHandle: false);
        Segment = new SharedSegment(Adopt(_mapping, _sizeBytes, descriptor, null), ringCapacity);
    }

    /// <summary>The segment, which owns the mapping. Its descriptor stays this object's.</summary>
    public SharedSegment Segment { get; }

    /// <summary>The number of pages within the file's size, which the owner or the reader has paid for.</summary>
    public long Pages
    {
        get
        {
            var range = new LinuxNative.CacheRange { Length = (ulong)_sizeBytes };
            LinuxNative.CacheFacts facts;
            return LinuxNative.CacheStat(SystemCallNumbers.CacheStat, _file, &range, &facts, 0) == 0
                ? (long)(facts.Cached + facts.Evicted)
                : throw new IOException(LinuxNative.LastErrorText());
        }
    }

    /// <summary>
    /// Creates one whose pages are all behind the end of the file, or those of its second ring.
    /// </summary>
    public static HollowSegment WithPagesBehindTheEnd(long ringCapacity, bool hasFirstRing) =>
        new(ringCapacity, segment =>
        {
            long first = hasFirstRing ? SegmentLayout.FirstSizeBytes(ringCapacity) : 0;
            Assert.That(first == 0 || LinuxNative.FAllocate(segment._file, 0, 0, first) == 0);
            long size = segment._sizeBytes;
            Assert.That(LinuxNative.FAllocate(segment._file, KeepSize, size, size), Is.Zero);
        });

    /// <summary>Creates one with all its pages, which were read and never written.</summary>
    public static HollowSegment WithPagesThatWereRead(long ringCapacity) =>
        new(ringCapacity, segment => segment.ReadAllPages());

    /// <summary>Opens the file for reading only, after its permissions were taken from all users but its own.</summary>
    public SafeFileHandle OpenReadOnly()
    {
        const uint OwnersOnly = 0x180; // 0600
        Assert.That(LinuxNative.FChMod(_file, OwnersOnly), Is.Zero);
        return new SafeFileHandle(
            LinuxNative.Open($"/proc/self/fd/{_file.DangerousGetHandle()}", LinuxNative.OCloexec, 0), ownsHandle: true);
    }

    /// <summary>Frees the pages behind the end: a change of the size to what it is.</summary>
    public void FreeBehindTheEnd() => Assert.That(LinuxNative.FTruncate(_file, _sizeBytes), Is.Zero);

    /// <summary>Asks the kernel for the pages that are missing, which are clean then.</summary>
    public void ReadAllPages() => Assert.That(
        LinuxNative.MAdvise(_mapping, (nuint)_sizeBytes, LinuxNative.MadvPopulateRead), Is.Zero);

    /// <summary>Asks the kernel to take away all pages that it can.</summary>
    public void PageOut() =>
        Assert.That(LinuxNative.MAdvise(_mapping, (nuint)_sizeBytes, PageOutAdvice), Is.Zero);

    public void Dispose()
    {
        Segment.Dispose();
        _file.Dispose();
    }

    [UnsafeAccessor(UnsafeAccessorKind.Constructor)]
    private static extern MemoryFile Adopt(
        nint address, long sizeBytes, SafeFileHandle descriptor, long? allocatedForRest);
}
