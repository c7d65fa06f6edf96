using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Linux;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Linux;

[LinuxOnly("Memory files, their seals and their pages.")]
public class SegmentMemoryTests
{
    private const long SizeBytes = 64 << 10;

    [Test]
    public void Create_OfSize_HasThatSizeAndOnlyTheSealThatForbidsExecution()
    {
        using SafeFileHandle file = SegmentMemory.Create(SizeBytes, SizeBytes);

        const int Exec = 0x20;
        Assert.That(FileFacts.OfDescriptor(file).SizeBytes, Is.EqualTo(SizeBytes));
        Assert.That(LinuxNative.FCntl(file, LinuxNative.FGetSeals, 0) & ~Exec, Is.Zero);
    }

    [Test]
    public void Create_OfNegativeSize_IsASegmentExceptionAndLeaksNothing()
    {
        int before = Testing.ProcessResources.CountSegmentDescriptors();

        Assert.That(() => SegmentMemory.Create(-1, -1), Throws.TypeOf<SegmentException>());
        Assert.That(Testing.ProcessResources.CountSegmentDescriptors(), Is.EqualTo(before));
    }

    [Test]
    public void Seal_AfterMapping_LeavesTheOwnersMappingWritable()
    {
        using SafeFileHandle file = SegmentMemory.Create(SizeBytes, SizeBytes);
        nint address = SegmentMemory.MapWritable(file, SizeBytes, SizeBytes);
        SegmentMemory.Seal(file);

        Marshal.WriteInt64(address, 42);

        Assert.That(Marshal.ReadInt64(address), Is.EqualTo(42));
        SegmentMemory.Unmap(address, SizeBytes);
    }

    [TestCase(0)]
    [TestCase(SizeBytes - 1)]
    [TestCase(SizeBytes * 2)]
    public void Seal_Afterwards_RefusesAnotherSize(long otherSize)
    {
        using SafeFileHandle file = SealedFile();

        Assert.That(LinuxNative.FTruncate(file, otherSize), Is.EqualTo(-1));
        Assert.That(Marshal.GetLastPInvokeError(), Is.EqualTo(NativeCalls.ErrnoEPERM));
    }

    [Test]
    public void Seal_Afterwards_RefusesNewWritableMappings()
    {
        using SafeFileHandle file = SealedFile();

        nint address = LinuxNative.MMap(
            0, (nuint)SizeBytes, LinuxNative.ProtRead | LinuxNative.ProtWrite, LinuxNative.MapShared, file, 0);

        Assert.That(address, Is.EqualTo((nint)(-1)));
        Assert.That(Marshal.GetLastPInvokeError(), Is.EqualTo(NativeCalls.ErrnoEPERM));
    }

    [Test]
    public void Seal_Afterwards_RefusesWritesAndHolesAndMoreSeals()
    {
        using SafeFileHandle file = SealedFile();

        Assert.That(NativeCalls.WriteAt(file, [1], 1, 0), Is.EqualTo((nint)(-1)));
        Assert.That(LinuxNative.FAllocate(file, NativeCalls.PunchHoleKeepSize, 0, 4096), Is.EqualTo(-1));
        Assert.That(LinuxNative.FCntl(file, LinuxNative.FAddSeals, 8), Is.EqualTo(-1));
    }

    [Test]
    public void CheckAndMapReadOnly_OfSealedFile_CannotBeMadeWritable()
    {
        using SafeFileHandle file = SealedFile();
        nint address = SegmentMemory.CheckAndMapReadOnly(file, SizeBytes);

        int result = NativeCalls.Protect(address, (nuint)SizeBytes, LinuxNative.ProtRead | LinuxNative.ProtWrite);

        Assert.That(result, Is.EqualTo(-1));
        Assert.That(Marshal.GetLastPInvokeError(), Is.EqualTo(NativeCalls.ErrnoEACCES));
        SegmentMemory.Unmap(address, SizeBytes);
    }

    [Test]
    public void CheckAndMapReadOnly_OfPipe_SaysThatItIsNoMemoryFile()
    {
        using SafeFileHandle pipe = Descriptors.Pipe();

        AssertRefused(pipe, SizeBytes, "not a memory file");
    }

    [Test]
    public void CheckAndMapReadOnly_OfOrdinaryFile_IsRefused()
    {
        using SafeFileHandle file = Descriptors.OrdinaryFile(SizeBytes);

        // On tmpfs an ordinary file has seals, but not the required ones; on other file systems it has none.
        AssertRefused(file, SizeBytes, "seals");
    }

    // A peer that removes pages makes this process pay for them again when it reads.
    [Test]
    public void Seal_Afterwards_RefusesHolesThroughTheOwnersMapping()
    {
        using SafeFileHandle file = SegmentMemory.Create(SizeBytes, SizeBytes);
        nint address = SegmentMemory.MapWritable(file, SizeBytes, SizeBytes);
        SegmentMemory.Seal(file);

        Assert.That(LinuxNative.MAdvise(address, 4096, NativeCalls.MadvRemove), Is.EqualTo(-1));
        Assert.That(Marshal.GetLastPInvokeError(), Is.EqualTo(NativeCalls.ErrnoEPERM));
        Assert.That(LinuxNative.FAllocate(file, NativeCalls.PunchHoleKeepSize, 0, 4096), Is.EqualTo(-1));
        Assert.That(Marshal.GetLastPInvokeError(), Is.EqualTo(NativeCalls.ErrnoEPERM));
        Assert.That(FileFacts.OfDescriptor(file).AllocatedBytes, Is.EqualTo(SizeBytes));
        SegmentMemory.Unmap(address, SizeBytes);
    }

    [TestCase("/", "not a memory file", Description = "A directory.")]
    [TestCase("/dev/zero", "not a memory file", Description = "A device.")]
    [TestCase("/proc/self/mem", "not a memory file", Description = "The memory of a process.")]
    public void CheckAndMapReadOnly_OfAnOddFile_IsRefused(string path, string why)
    {
        using var file = new SafeFileHandle(LinuxNative.Open(path, LinuxNative.OCloexec, 0), ownsHandle: true);

        AssertRefused(file, SizeBytes, why);
    }

    [Test]
    public void Mappings_OfBothSides_AreNotDumped()
    {
        using SafeFileHandle file = SegmentMemory.Create(SizeBytes, SizeBytes);
        nint own = SegmentMemory.MapWritable(file, SizeBytes, SizeBytes);
        SegmentMemory.Seal(file);
        nint peer = SegmentMemory.CheckAndMapReadOnly(file, SizeBytes);

        Assert.That(FlagsAt(own), Does.Contain("dd").And.Contain("dc"));
        Assert.That(FlagsAt(peer), Does.Contain("dd").And.Contain("dc"));
        SegmentMemory.Unmap(own, SizeBytes);
        SegmentMemory.Unmap(peer, SizeBytes);
    }

    [TestCase(0)]
    [TestCase(Descriptors.AllRequired & ~Descriptors.SealSeal)]
    [TestCase(Descriptors.AllRequired & ~Descriptors.SealShrink)]
    [TestCase(Descriptors.AllRequired & ~Descriptors.SealGrow)]
    [TestCase(Descriptors.AllRequired & ~Descriptors.SealFutureWrite)]
    public void CheckAndMapReadOnly_WithoutARequiredSeal_SaysWhichThereAre(int seals)
    {
        using SafeFileHandle file = Descriptors.MemoryFile(SizeBytes, seals);

        AssertRefused(file, SizeBytes, $"carries seals 0x{seals:X}");
    }

    [TestCase(SizeBytes - 4096)]
    [TestCase(SizeBytes + 4096)]
    [TestCase(SizeBytes + 1)]
    [TestCase(0)]
    public void CheckAndMapReadOnly_OfAnotherSizeThanAnnounced_SaysBoth(long realSize)
    {
        using SafeFileHandle file = Descriptors.MemoryFile(realSize, Descriptors.AllRequired);

        AssertRefused(file, SizeBytes, $"has {realSize} bytes; it announced {SizeBytes}");
    }

    [Test]
    public void CheckAndMapReadOnly_WithoutTheSealAgainstWriters_IsTakenByAKernelThatLacksIt()
    {
        // Kernels before 5.1 lack this seal, so the owner cannot set it.
        using SafeFileHandle file = Descriptors.MemoryFile(
            SizeBytes, Descriptors.AllRequired & ~Descriptors.SealFutureWrite);

        nint address = SegmentMemory.CheckAndMapReadOnly(file, SizeBytes, isFutureWriteRequired: false);

        Assert.That(Marshal.ReadInt64(address), Is.Zero);
        SegmentMemory.Unmap(address, SizeBytes);
    }

    private static string[] FlagsAt(nint address) => File.ReadLines("/proc/self/smaps")
        .SkipWhile(line => !line.StartsWith($"{address:x}-", StringComparison.Ordinal))
        .First(line => line.StartsWith("VmFlags:", StringComparison.Ordinal))
        .Split(' ', StringSplitOptions.RemoveEmptyEntries);

    private static SafeFileHandle SealedFile()
    {
        SafeFileHandle file = SegmentMemory.Create(SizeBytes, SizeBytes);
        SegmentMemory.Seal(file);
        return file;
    }

    private static void AssertRefused(SafeFileHandle file, long announced, string why)
    {
        Assert.That(
            () => SegmentMemory.CheckAndMapReadOnly(file, announced),
            Throws.TypeOf<SegmentException>().With.Message.Contains(why));
    }
}
