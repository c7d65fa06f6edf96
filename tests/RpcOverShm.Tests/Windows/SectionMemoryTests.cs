using System.Runtime.Versioning;
using RpcOverShm.Systems;
using RpcOverShm.Windows;

namespace RpcOverShm.Tests.Windows;

/// <summary>Sections: what the other side sees, what nobody can do with them, and which are refused.</summary>
[WindowsFixture]
[SupportedOSPlatform("windows")]
public unsafe class SectionMemoryTests
{
    private const int Bytes = 1 << 20;
    private const uint WriteDac = 0x0004_0000;

    [Test]
    public void Open_OfAnHonestSection_SeesWhatIsWritten()
    {
        using var own = SectionMemory.Create(Bytes);
        using var seen = SectionMemory.Open(Handles.OfPeer(own.Handle), Bytes);

        *(long*)(own.Address + Bytes - sizeof(long)) = 42;
        own.ReleaseHandle();
        *(long*)own.Address = 43;

        Assert.That(*(long*)(seen.Address + Bytes - sizeof(long)), Is.EqualTo(42));
        Assert.That(*(long*)seen.Address, Is.EqualTo(43));
    }

    [Test]
    public void Open_OfASizeThatIsNoPages_MapsThePagesOfIt()
    {
        using var own = SectionMemory.Create(5000);
        using var seen = SectionMemory.Open(Handles.OfPeer(own.Handle), 5000);

        Assert.That(seen.SizeBytes, Is.EqualTo(5000));
    }

    [TestCase(WindowsNative.SectionQuery | WindowsNative.SectionMapRead | Handles.SectionMapWrite)]
    [TestCase(WindowsNative.SectionMapRead | WriteDac)]
    public void Handle_OfEitherSide_CannotGetMoreRights(uint rights)
    {
        using var own = SectionMemory.Create(Bytes);
        using KernelHandle ofPeer = Handles.OfPeer(own.Handle);

        Assert.That(Handles.CanHave(own.Handle, rights), Is.False);
        Assert.That(Handles.CanHave(ofPeer, rights), Is.False);
        Assert.That(Handles.CanHave(ofPeer, WindowsNative.SectionMapRead), Is.True);
    }

    // As the owner's user, a peer could otherwise give itself all rights.
    [Test]
    public void Handle_OfThePeer_CannotChangeTheListOfRights()
    {
        Assume.That(ProcessResources.IsWine, Is.False, "Wine does not know the rights of owners.");
        using var own = SectionMemory.Create(Bytes);
        using KernelHandle ofPeer = Handles.OfPeer(own.Handle);

        Assert.That(Handles.CanHave(ofPeer, WriteDac), Is.False);
    }

    [Test]
    public void Handle_OfThePeer_CannotBeMappedForWriting()
    {
        using var own = SectionMemory.Create(Bytes);
        using KernelHandle ofPeer = Handles.OfPeer(own.Handle);

        Assert.That((long)WindowsNative.MapViewOfFile(ofPeer, WindowsNative.FileMapWrite, 0, 0, 0), Is.Zero);
        Assert.That((long)WindowsNative.MapViewOfFile(own.Handle, WindowsNative.FileMapWrite, 0, 0, 0), Is.Zero);
    }

    [TestCase(Bytes / 2)]
    [TestCase(Bytes - 4096)]
    [TestCase(Bytes + 1)]
    public void Open_WithASizeThatLies_Fails(int announced)
    {
        using var own = SectionMemory.Create(Bytes);

        Assert.That(
            () => SectionMemory.Open(Handles.OfPeer(own.Handle), announced),
            Throws.TypeOf<SegmentException>().With.Message.Contains($"announced {announced}"));
    }

    [Test]
    public void Open_OfReservedPages_Fails() => Assert.That(
        () => SectionMemory.Open(Handles.Section(Handles.SectionReserve, Bytes), Bytes),
        Throws.TypeOf<SegmentException>().With.Message.Contains("all of it committed"));

    [Test]
    public void Open_OfASectionOfAFile_Fails()
    {
        string path = Path.Combine(TestContext.CurrentContext.WorkDirectory, Path.GetRandomFileName());
        using var file = new FileStream(
            path, FileMode.CreateNew, FileAccess.ReadWrite, FileShare.None, 1, FileOptions.DeleteOnClose);
        file.SetLength(Bytes);

        Assert.That(
            () => SectionMemory.Open(Handles.SectionOf(file), Bytes),
            Throws.TypeOf<SegmentException>().With.Message.Contains("memory of the page file"));
    }

    [Test]
    public void Open_OfASectionOfAnImage_Fails()
    {
        using FileStream file = File.OpenRead(Environment.ProcessPath!);
        KernelHandle section = Handles.SectionOf(file, Handles.SectionImage);
        Assert.That(section.IsInvalid, Is.False);

        Assert.That(
            () => SectionMemory.Open(section, Bytes),
            Throws.TypeOf<SegmentException>().With.Message.Contains("memory of the page file"));
    }

    [Test]
    public void Open_OfAnotherObject_FailsAndClosesTheHandle()
    {
        KernelHandle handle = KernelHandle.CreateEvent();

        Assert.That(
            () => SectionMemory.Open(handle, Bytes),
            Throws.TypeOf<SegmentException>().With.Message.Contains("not of a section"));
        Assert.That(handle.IsClosed);
    }

    [Test]
    public void Create_OfMoreThanTheSystemHas_FailsForLackOfMemory() => Assert.That(
        () => SectionMemory.Create(1L << 46),
        Throws.TypeOf<SegmentException>().With.Message.Contains("bytes of shared memory"));
}
