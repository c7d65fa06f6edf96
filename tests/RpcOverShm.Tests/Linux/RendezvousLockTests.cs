using System.Text;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Linux;

namespace RpcOverShm.Tests.Linux;

[LinuxOnly("The lock beside a socket's file; the first instance of a pipe needs none.")]
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

    // Another user who may write to the directory would choose the file that the server creates and writes.
    [Test]
    public void TryTake_WhereALinkStands_MakesAndChangesNoFile([Values] bool isDangling)
    {
        string target = _directory.Combine("target");
        if (!isDangling)
        {
            File.WriteAllText(target, "precious");
        }

        File.CreateSymbolicLink(LockPath, target);

        AssertRefused($"The lock file '{LockPath}' is a link; it was left alone. Remove it.");
        Assert.That(File.Exists(target), Is.Not.EqualTo(isDangling));
        Assert.That(isDangling ? "precious" : File.ReadAllText(target), Is.EqualTo("precious"));
    }

    [Test]
    public void TryTake_OfAFileWithASecondName_LeavesItAlone()
    {
        File.WriteAllText(_directory.Combine("target"), "precious");
        Assert.That(NativeCalls.MakeHardLink(_directory.Combine("target"), LockPath), Is.Zero);

        AssertRefused("with one name; it belongs to user");
        Assert.That(File.ReadAllText(_directory.Combine("target")), Is.EqualTo("precious"));
    }

    [Test]
    public void TryTake_OfANamedPipe_LeavesItAlone()
    {
        Assert.That(NativeCalls.MakeFifo(LockPath, 0x180), Is.Zero);

        AssertRefused("must be an ordinary file");
    }

    [Test]
    public void TryTake_OfAnotherUsersFile_LeavesItAlone()
    {
        Assume.That(LinuxNative.GetEffectiveUserId(), Is.Zero, "Only root can give a file away.");
        File.WriteAllText(LockPath, "1\n");
        Assert.That(NativeCalls.ChangeOwner(LockPath, 12345, 12345), Is.Zero);

        AssertRefused("belongs to user 12345 and has 1 names. It was left alone. Remove it.");
    }

    [Test]
    public void Dispose_AfterAnotherFileTookItsPlace_LeavesThatAlone()
    {
        RendezvousLock held = RendezvousLock.TryTake(LockPath, out _)!;
        File.Delete(LockPath);
        File.WriteAllText(LockPath, "another's");

        held.Dispose();

        Assert.That(File.ReadAllText(LockPath), Is.EqualTo("another's"));
    }

    [TestCase("1234567\n")]
    [TestCase("", Description = "The server had no space for its id.")]
    public void TryTakeLeftBehind_OfADeadServersFile_TakesIt_AndDisposeRemovesIt(string content)
    {
        LeaveFile(content);

        using (RendezvousLock? taken = RendezvousLock.TryTakeLeftBehind(LockPath))
        {
            Assert.That(taken?.IsAt(LockPath), Is.True);
            Assert.That(RendezvousLock.TryTake(LockPath, out _), Is.Null);
        }

        Assert.That(File.Exists(LockPath), Is.False);
    }

    [Test]
    public void TryTakeLeftBehind_OfNoFile_MakesNone()
    {
        Assert.That(RendezvousLock.TryTakeLeftBehind(LockPath), Is.Null);
        Assert.That(_directory.FileNames, Is.Empty);
    }

    [Test]
    public void TryTakeLeftBehind_OfALivingServersFile_LeavesIt()
    {
        using RendezvousLock? held = RendezvousLock.TryTake(LockPath, out _);

        Assert.That(RendezvousLock.TryTakeLeftBehind(LockPath), Is.Null);
        Assert.That(held!.IsAt(LockPath));
    }

    // Other programs have lock files too, some with the id of a process.
    [TestCase("precious", 0x180)]
    [TestCase("12", 0x1A4)]
    [TestCase("                123", 0x180)]
    public void TryTakeLeftBehind_OfAFileThatNoServerMakes_LeavesIt(string content, int mode)
    {
        LeaveFile(content);
        File.SetUnixFileMode(LockPath, (UnixFileMode)mode);

        Assert.That(RendezvousLock.TryTakeLeftBehind(LockPath), Is.Null);
        Assert.That(File.ReadAllText(LockPath), Is.EqualTo(content));
    }

    [TestCase("link")]
    [TestCase("two names")]
    [TestCase("named pipe")]
    [TestCase("directory")]
    public void TryTakeLeftBehind_OfAnythingElse_LeavesIt(string what)
    {
        string target = _directory.Combine("target");
        File.WriteAllText(target, "1\n");
        switch (what)
        {
            case "link":
                File.CreateSymbolicLink(LockPath, target);
                break;
            case "two names":
                Assert.That(NativeCalls.MakeHardLink(target, LockPath), Is.Zero);
                break;
            case "named pipe":
                Assert.That(NativeCalls.MakeFifo(LockPath, 0x180), Is.Zero);
                break;
            default:
                Directory.CreateDirectory(LockPath);
                break;
        }

        TestThread.Start("taker", () => Assert.That(RendezvousLock.TryTakeLeftBehind(LockPath), Is.Null)).Join();
        Assert.That(_directory.FileNames, Is.EqualTo(new[] { "target", "x.lock" }));
    }

    [Test]
    public void IsAt_AfterTheFileMovedAway_AndBack_TellsWhereItIs()
    {
        using RendezvousLock? held = RendezvousLock.TryTake(LockPath, out _);
        string away = _directory.Combine("away");

        File.Move(LockPath, away);
        (bool, bool) whileAway = (held!.IsAt(LockPath), held.IsAt(away));
        File.Move(away, LockPath);

        Assert.That(whileAway, Is.EqualTo((false, true)));
        Assert.That((held.IsAt(LockPath), held.IsAt(away)), Is.EqualTo((true, false)));
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

    // On a thread of its own: a lock that is tried again and again would never return.
    private void AssertRefused(string why) => TestThread.Start("taker", () => Assert.That(
        () => RendezvousLock.TryTake(LockPath, out _),
        Throws.TypeOf<IOException>().With.Message.Contains(why))).Join();

    // With the permissions of a lock file.
    private void LeaveFile(string content)
    {
        File.WriteAllText(LockPath, content);
        File.SetUnixFileMode(LockPath, UnixFileMode.UserRead | UnixFileMode.UserWrite);
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
