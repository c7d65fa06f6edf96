using System.Text;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Links;
using RpcOverShm.Segments;
using RpcOverShm.Tests.Segments;

namespace RpcOverShm.Tests.Links;

public class RendezvousLockTests
{
    private readonly TestDirectory _directory = new();

    private string LockPath => _directory.Combine("x.lock");

    [TearDown]
    public void RemoveDirectory() => _directory.Dispose();

    [Test]
    public void TryTake_OfAFreeLock_MakesAFileOfTheOwnerAlone()
    {
        using RendezvousLock? held = RendezvousLock.TryTake(LockPath, out int? holder);

        Assert.That(held, Is.Not.Null);
        Assert.That(holder, Is.Null);
        Assert.That(File.GetUnixFileMode(LockPath), Is.EqualTo(UnixFileMode.UserRead | UnixFileMode.UserWrite));
    }

    [TestCase(null)]
    [TestCase("1234567 and much more", Description = "A dead server left it.")]
    public void TryTake_OfAHeldLock_SaysWhoHoldsIt(string? leftBehind)
    {
        if (leftBehind is not null)
        {
            File.WriteAllText(LockPath, leftBehind);
        }

        using RendezvousLock? held = RendezvousLock.TryTake(LockPath, out _);

        Assert.That(held, Is.Not.Null);
        Assert.That(RendezvousLock.TryTake(LockPath, out int? holder), Is.Null);
        Assert.That(holder, Is.EqualTo(Environment.ProcessId));
    }

    [TestCase("")]
    [TestCase("no number")]
    [TestCase("99999999999999999999999")]
    public void TryTake_OfAHeldLockWithAnOddFile_DoesNotKnowWho(string content)
    {
        using RendezvousLock? held = RendezvousLock.TryTake(LockPath, out _);
        Overwrite(content);

        Assert.That(RendezvousLock.TryTake(LockPath, out int? holder), Is.Null);
        Assert.That(holder, Is.Null);
    }

    [Test]
    public void Dispose_OfAHeldLock_RemovesTheFileAndFreesTheLock()
    {
        RendezvousLock.TryTake(LockPath, out _)!.Dispose();

        Assert.That(File.Exists(LockPath), Is.False);
        using RendezvousLock? next = RendezvousLock.TryTake(LockPath, out _);
        Assert.That(next, Is.Not.Null);
    }

    [Test]
    public void Dispose_Twice_LeavesTheNextHoldersFileAlone()
    {
        RendezvousLock first = RendezvousLock.TryTake(LockPath, out _)!;
        first.Dispose();
        using RendezvousLock? next = RendezvousLock.TryTake(LockPath, out _);

        first.Dispose();

        Assert.That(File.Exists(LockPath));
        Assert.That(RendezvousLock.TryTake(LockPath, out _), Is.Null);
    }

    [Test]
    public void TryTake_InAMissingDirectory_IsAnIOExceptionThatNamesTheFile()
    {
        string path = _directory.Combine("missing/x.lock");

        Assert.That(
            () => RendezvousLock.TryTake(path, out _), Throws.TypeOf<IOException>().With.Message.Contains(path));
    }

    [Test]
    public void TryTake_WhereADirectoryStands_IsAnIOException()
    {
        Directory.CreateDirectory(LockPath);

        Assert.That(() => RendezvousLock.TryTake(LockPath, out _), Throws.TypeOf<IOException>());
    }

    [Test]
    public void TryTake_WhereALinkStands_IsAnIOException()
    {
        // The file behind the link never matches the file of that name: without a check the retry loop would not end.
        File.WriteAllText(_directory.Combine("target"), "");
        File.CreateSymbolicLink(LockPath, _directory.Combine("target"));

        TestThread.Start("taker", () => Assert.That(
            () => RendezvousLock.TryTake(LockPath, out _),
            Throws.TypeOf<IOException>().With.Message.Contains(LockPath))).Join();
    }

    [Test]
    public void TryTake_WhileHoldersComeAndGo_IsHeldByOneAtATime()
    {
        // Each release removes the file. A lock on the removed file must keep no other taker out.
        const int Threads = 4;
        const int TakesEach = 100;
        int holders = 0;
        int overlaps = 0;
        using var start = new Barrier(Threads);
        TestThread.RunAll("taker", Threads, _ =>
        {
            start.SignalAndWait(Timeouts.Wait);
            for (int taken = 0; taken < TakesEach;)
            {
                using RendezvousLock? held = RendezvousLock.TryTake(LockPath, out int? _);
                if (held is not null)
                {
                    overlaps += Interlocked.Increment(ref holders) == 1 ? 0 : 1;
                    Thread.Yield();
                    Interlocked.Decrement(ref holders);
                    taken++;
                }

                Thread.Yield();
            }
        });

        Assert.That(overlaps, Is.Zero);
        Assert.That(File.Exists(LockPath), Is.False);
    }

    [Test]
    public void TryTake_ManyTimes_LeaksNoDescriptor()
    {
        int before = ProcessResources.CountDescriptors("x.lock");
        using (RendezvousLock? held = RendezvousLock.TryTake(LockPath, out _))
        {
            for (int i = 0; i < 20; i++)
            {
                RendezvousLock.TryTake(LockPath, out _);
            }

            Assert.That(ProcessResources.CountDescriptors("x.lock"), Is.EqualTo(before + 1));
        }

        Assert.That(ProcessResources.CountDescriptors("x.lock"), Is.EqualTo(before));
    }

    // Without File: the runtime takes a lock of the same kind on its own files, and would fail here.
    private void Overwrite(string content)
    {
        const int ReadWrite = 2;
        using var file = new SafeFileHandle(LinuxNative.Open(LockPath, ReadWrite, 0), ownsHandle: true);
        byte[] bytes = Encoding.ASCII.GetBytes(content);
        Assert.That(LinuxNative.FTruncate(file, 0), Is.Zero);
        Assert.That(NativeCalls.WriteAt(file, bytes, bytes.Length, 0), Is.EqualTo((nint)bytes.Length));
    }
}
