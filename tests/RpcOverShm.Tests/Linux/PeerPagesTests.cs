using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Linux;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Linux;

/// <summary>
/// The pages of a peer's memory file: the process that touches a missing one pays for it, so none may be missing when
/// it is read, also if the peer has made it look otherwise.
/// </summary>
[LinuxOnly("Missing pages of a memory file; a section has all.")]
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
public sealed class PeerPagesTests : IDisposable
{
    private const long Capacity = 1 << 20;

    private static readonly long s_firstBytes = SegmentLayout.FirstSizeBytes(Capacity);
    private static readonly long s_sizeBytes = SegmentLayout.SizeBytes(Capacity);

    private readonly SafeFileHandle _file = Descriptors.MemoryFile(s_sizeBytes, seals: 0, allocatedBytes: 0);
    private nint _mapping;

    public void Dispose()
    {
        if (_mapping != 0)
        {
            SegmentMemory.Unmap(_mapping, s_sizeBytes);
        }

        _file.Dispose();
    }

    [Test]
    public void Open_OfAFileWithAHoleInTheFirstRing_IsRefused_AndTheHoleStays(
        [Values(0, 4096, 65536)] long allocated, [Values] bool canCount)
    {
        Allocate(0, allocated);
        SegmentMemory.Seal(_file);

        AssertHoles(() => Open(canCount));
        Assert.That(PagesBytes(), Is.EqualTo(allocated));
    }

    [Test]
    public void Open_OfAFileOfHugePages_IsRefused()
    {
        // Its pages come from a pool of the system; none is allocated here. No segment has such a size.
        const long HugePage = 2 << 20;
        using SafeFileHandle file = Descriptors.MemoryFile(
            HugePage, Descriptors.AllRequired, allocatedBytes: 0, NativeCalls.MfdHugetlb);

        Assert.That(
            () => SharedSegment.Open(Descriptors.Duplicate(file), Capacity),
            Throws.TypeOf<SegmentException>().With.Message.Contains($"has {HugePage} bytes"));
    }

    // The file occupies as much memory as an honest one, behind its end. A change of its size to what it is frees that.
    [Test]
    public void PagesBehindTheEnd_CountNeitherAtTheHelloNorAtTheMove([Values] bool hasFirstRing)
    {
        Allocate(0, hasFirstRing ? s_firstBytes : 0);
        AllocateBehindTheEnd();
        SegmentMemory.Seal(_file);
        Assert.That(FileFacts.OfDescriptor(_file).AllocatedBytes, Is.GreaterThanOrEqualTo(s_sizeBytes));

        if (hasFirstRing)
        {
            using SharedSegment view = Open(canCount: true);
            AssertHoles(view.CheckSecond);
        }
        else
        {
            AssertHoles(() => Open(canCount: true));
        }

        Assert.That(LinuxNative.FTruncate(_file, s_sizeBytes), Is.Zero);
        Assert.That(PagesBytes(), Is.EqualTo(hasFirstRing ? s_firstBytes : 0));
        Assert.That(FileFacts.OfDescriptor(_file).AllocatedBytes, Is.EqualTo(PagesBytes()));
    }

    // Only the sum is known there, so the first ring may be paid for by this process; the second may not.
    [Test]
    public void PagesBehindTheEnd_OnAKernelThatCountsNoPages_CostTheFirstRingAtMost([Values] bool isFreedBeforeTheMove)
    {
        AllocateBehindTheEnd();
        SegmentMemory.Seal(_file);
        using SharedSegment view = Open(canCount: false);
        if (isFreedBeforeTheMove)
        {
            Assert.That(LinuxNative.FTruncate(_file, s_sizeBytes), Is.Zero);
        }

        AssertHoles(view.CheckSecond);
        Assert.That(PagesBytes(), Is.LessThanOrEqualTo(s_firstBytes));
    }

    [Test]
    public void SecondRing_ThatGetsItsMemoryAfterTheHello_IsTaken([Values] bool canCount)
    {
        using SharedSegment own = SharedSegment.Create(Capacity, Guid.Empty);
        using SharedSegment view = Open(Descriptors.Duplicate(own.Handle), canCount);

        AssertHoles(view.CheckSecond);
        Assert.That(own.TryAllocateSecond(), Is.Null);
        view.CheckSecond();

        Assert.That(FileFacts.OfDescriptor(own.Handle).AllocatedBytes, Is.EqualTo(s_sizeBytes));
    }

    // An owner on such a kernel can give it memory later, and one that has not is taken for one that tricks.
    [Test]
    public void SecondRing_ThatHadItsMemoryBefore_IsTakenOnlyWherePagesAreCounted([Values] bool canCount)
    {
        Allocate(0, s_sizeBytes);
        SegmentMemory.Seal(_file);
        using SharedSegment view = Open(canCount);

        if (canCount)
        {
            view.CheckSecond();
        }
        else
        {
            AssertHoles(view.CheckSecond);
        }
    }

    // A page that was read and never written is clean: the kernel may drop it, and does so when its owner asks. It
    // stays while another process has it in its mapping.
    [Test]
    public unsafe void PagesThatWereOnlyRead_CannotBeDroppedOnceTheyAreTaken()
    {
        ReadAllPages();
        SegmentMemory.Seal(_file);
        using SharedSegment view = Open(canCount: true);
        PageOut();
        Assert.That(PagesBytes(), Is.LessThan(s_sizeBytes), "The rest of the file was dropped.");
        Assert.That(PagesBytes(), Is.GreaterThanOrEqualTo(s_firstBytes));
        AssertHoles(view.CheckSecond);

        ReadAllPages();
        view.CheckSecond();
        PageOut();

        Assert.That(PagesBytes(), Is.EqualTo(s_sizeBytes));
        Assert.That(view.SecondData[Capacity - 1], Is.Zero);
    }

    [Test]
    public void LargePages_AreCountedLikeOthers()
    {
        nint mapping = Mapping();
        _ = LinuxNative.MAdvise(mapping, (nuint)s_sizeBytes, NativeCalls.MadvHugePage); // Where the system has them.
        Marshal.WriteByte(mapping, 1);
        AllocateBehindTheEnd();
        SegmentMemory.Seal(_file);
        long present = PagesBytes();
        if (present < s_firstBytes)
        {
            AssertHoles(() => Open(canCount: true));
        }

        Assert.That(SegmentMemory.TryAllocate(mapping, s_sizeBytes), Is.Null);
        using SharedSegment view = Open(canCount: true);
        view.CheckSecond();
        Assert.That(PagesBytes(), Is.EqualTo(s_sizeBytes));
    }

    private static void AssertHoles(Action act) =>
        Assert.That(act, Throws.TypeOf<SegmentException>().With.Message.Contains("has holes"));

    private SharedSegment Open(bool canCount) =>
        Open(Descriptors.Duplicate(_file), canCount);

    private static SharedSegment Open(SafeFileHandle file, bool canCount) => new(
        MemoryFile.Open(file, s_sizeBytes, s_firstBytes, canCount), Capacity);

    private void Allocate(long start, long length) =>
        Assert.That(length == 0 || LinuxNative.FAllocate(_file, 0, start, length) == 0);

    private void AllocateBehindTheEnd() =>
        Assert.That(LinuxNative.FAllocate(_file, NativeCalls.KeepSize, s_sizeBytes, s_sizeBytes), Is.Zero);

    private nint Mapping()
    {
        if (_mapping == 0)
        {
            _mapping = LinuxNative.MMap(
                0,
                (nuint)s_sizeBytes,
                LinuxNative.ProtRead | LinuxNative.ProtWrite,
                LinuxNative.MapShared,
                _file,
                0);
        }

        return _mapping;
    }

    private void ReadAllPages() => Assert.That(
        LinuxNative.MAdvise(Mapping(), (nuint)s_sizeBytes, LinuxNative.MadvPopulateRead), Is.Zero);

    private void PageOut() => Assert.That(
        LinuxNative.MAdvise(Mapping(), (nuint)s_sizeBytes, NativeCalls.MadvPageOut), Is.Zero);

    /// <summary>The bytes within the size of the file that have pages.</summary>
    private unsafe long PagesBytes()
    {
        var range = new LinuxNative.CacheRange { Start = 0, Length = (ulong)s_sizeBytes };
        LinuxNative.CacheFacts facts;
        Assert.That(
            LinuxNative.CacheStat(SystemCallNumbers.CacheStat, _file, &range, &facts, 0) == 0,
            LinuxNative.LastErrorText());
        return (long)(facts.Cached + facts.Evicted) * Environment.SystemPageSize;
    }
}
