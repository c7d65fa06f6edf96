using System.Diagnostics;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Linux;
using RpcOverShm.Segments;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Windows;

namespace RpcOverShm.Tests.Segments;

public class SharedPageTests
{
    [Test]
    public void TryRead_AfterAWrite_HasItsContent()
    {
        using SharedPage own = SharedPage.Create();
        using SharedPage view = SharedPage.Open(Copy(own.Handle));
        byte[] copy = new byte[8];
        Assert.That(view.TryRead(copy));
        Assert.That(copy, Is.All.Zero);

        own.Write([1, 2, 3]);

        Assert.That(view.TryRead(copy));
        Assert.That(copy, Is.EqualTo(new byte[] { 1, 2, 3, 0, 0, 0, 0, 0 }));
    }

    // Each write fills the content with one byte, so that a copy of two moments has two.
    [Test]
    public void TryRead_WhileAnotherThreadWrites_HasTheContentOfOneMoment()
    {
        using SharedPage own = SharedPage.Create();
        using SharedPage view = SharedPage.Open(Copy(own.Handle));
        bool isOver = false;
        TestThread writer = TestThread.Start("writer", () =>
        {
            byte[] content = new byte[SharedPage.ContentBytes];
            for (byte value = 0; !Volatile.Read(ref isOver); value++)
            {
                content.AsSpan().Fill(value);
                own.Write(content);
            }
        });
        byte[] copy = new byte[SharedPage.ContentBytes];
        int read = 0;
        for (long begun = Stopwatch.GetTimestamp();
            read < 200 && Stopwatch.GetElapsedTime(begun) < Timeouts.Wait;)
        {
            if (view.TryRead(copy))
            {
                read++;
                Assert.That(copy.AsSpan().ContainsAnyExcept(copy[0]), Is.False);
            }
        }

        Volatile.Write(ref isOver, true);
        writer.Join();
        Assert.That(read, Is.EqualTo(200));
    }

    [Test, LinuxOnly("Seals of a memory file.")]
    public void Open_OfAnUnsealedFileOrAnotherSize_IsRefused()
    {
        Assert.That(
            () => SharedPage.Open(Descriptors.MemoryFile(SharedPage.SizeBytes, 0)),
            Throws.TypeOf<SegmentException>().With.Message.Contains("seals"));
        Assert.That(
            () => SharedPage.Open(Descriptors.MemoryFile(4096, Descriptors.AllRequired)),
            Throws.TypeOf<SegmentException>().With.Message.Contains("4096 bytes"));
    }

    [Test, LinuxOnly("Seals of a memory file.")]
    public void Descriptor_OfAPage_CannotBeMappedForWriting()
    {
        using SharedPage own = SharedPage.Create();

        Assert.That(
            () => SegmentMemory.MapWritable((SafeFileHandle)own.Handle, SharedPage.SizeBytes, SharedPage.SizeBytes),
            Throws.TypeOf<SegmentException>());
    }

    private static SafeHandle Copy(SafeHandle handle) => OperatingSystem.IsWindows()
        ? Handles.OfPeer(handle)
        : new SafeFileHandle(LinuxNative.FCntl(handle, LinuxNative.FDuplicateCloexec, 0), ownsHandle: true);
}
