using RpcOverShm.Linux;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Linux;

/// <summary>Changes the umask of the process, so it runs alone.</summary>
[LinuxOnly("Directories, their modes and their owners; pipes are in none.")]
[NonParallelizable]
public class RuntimeDirectoryTests
{
    private const uint AnotherUser = 12345;
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    private readonly TestDirectory _directory = new();

    [TearDown]
    public void RemoveDirectory() => _directory.Dispose();

    [Test]
    public void Ensure_OfAMissingDirectory_MakesItForTheOwnerAlone()
    {
        string directory = _directory.Combine("new");

        RuntimeDirectory.Ensure(directory);

        Assert.That(File.GetUnixFileMode(directory), Is.EqualTo(OwnerOnly));
    }

    [Test]
    public void Ensure_InMissingDirectories_MakesThem()
    {
        string directory = _directory.Combine("one/two/three");
        uint umask = NativeCalls.SetUmask(0);
        try
        {
            RuntimeDirectory.Ensure(directory);
        }
        finally
        {
            _ = NativeCalls.SetUmask(umask);
        }

        Assert.That(File.GetUnixFileMode(directory), Is.EqualTo(OwnerOnly));
        Assert.That(FileFacts.OfPath(_directory.Combine("one/two"))!.Value.ModeText, Is.EqualTo("0755"));
    }

    [Test]
    public void Ensure_OfADirectoryThatIsThere_LeavesIt()
    {
        string directory = _directory.Combine("new");
        RuntimeDirectory.Ensure(directory);
        File.WriteAllText(Path.Combine(directory, "file"), "");

        Assert.That(() => RuntimeDirectory.Ensure(directory), Throws.Nothing);
        Assert.That(File.Exists(Path.Combine(directory, "file")));
    }

    [TestCase(UnixFileMode.GroupRead)]
    [TestCase(UnixFileMode.GroupWrite)]
    [TestCase(UnixFileMode.OtherWrite | UnixFileMode.OtherExecute)]
    [TestCase(UnixFileMode.OtherExecute)]
    public void Ensure_OfADirectoryThatOthersMayUse_SaysItsMode(UnixFileMode others)
    {
        string directory = Directory.CreateDirectory(_directory.Combine("open")).FullName;
        File.SetUnixFileMode(directory, OwnerOnly | others);

        Assert.That(
            () => RuntimeDirectory.Ensure(directory),
            Throws.TypeOf<IOException>().With.Message.Contains("mode 0700").And.Message.Contains("mode 07"));
    }

    [Test]
    public void Ensure_OfALinkToADirectory_IsRefused()
    {
        // The owner of the link would choose the place of the sockets.
        string real = Directory.CreateDirectory(_directory.Combine("real"), OwnerOnly).FullName;
        File.CreateSymbolicLink(_directory.Combine("link"), real);

        Assert.That(() => RuntimeDirectory.Ensure(_directory.Combine("link")), Throws.TypeOf<IOException>());
    }

    [Test]
    public void Ensure_WhereAFileStands_IsAnIOException()
    {
        File.WriteAllText(_directory.Combine("file"), "");

        Assert.That(() => RuntimeDirectory.Ensure(_directory.Combine("file")), Throws.InstanceOf<IOException>());
    }

    [TestCase(0x1FF, false)]
    [TestCase(0x3FF, true)]
    [TestCase(0x1ED, true)]
    public void Ensure_UnderADirectoryThatAllMayWrite_NeedsTheStickyBit(int mode, bool isTaken)
    {
        string parent = Directory.CreateDirectory(_directory.Combine("parent")).FullName;
        File.SetUnixFileMode(parent, (UnixFileMode)mode);

        Assert.That(
            () => RuntimeDirectory.Ensure(Path.Combine(parent, "run")),
            isTaken
                ? Throws.Nothing
                : Throws.TypeOf<IOException>().With.Message.Contains(
                    $"'{parent}' that holds the runtime directory must belong to user"));
    }

    // What root left there would keep that user's own servers out for ever.
    [TestCase("run", "own")]
    [TestCase("run", "users")]
    [TestCase("run", "group")]
    [TestCase("one/two/run", "own")]
    [TestCase("one/two/run", "users")]
    public void Ensure_UnderAnotherUsersDirectory_IsRefusedAndLeavesNothing(string below, string who)
    {
        Assume.That(LinuxNative.GetEffectiveUserId(), Is.Zero, "Only root can give a directory away.");
        string parent = Directory.CreateDirectory(_directory.Combine("parent")).FullName;
        Assert.That(NativeCalls.ChangeOwner(parent, AnotherUser, AnotherUser), Is.Zero);

        Assert.That(
            () => RuntimeDirectory.Ensure(Path.Combine(parent, below), who == "own" ? null : AccessFor(who)),
            Throws.TypeOf<IOException>().With.Message.Contains(
                below != "run" && who == "users"
                    ? "its parent does not exist"
                    : $"it belongs to user {AnotherUser}"));
        Assert.That(Directory.GetFileSystemEntries(parent), Is.Empty);
    }

    [TestCase("run")]
    [TestCase("one/two/run")]
    public void Ensure_UnderADirectoryThatAllMayWrite_LeavesNothing(string below)
    {
        string parent = Directory.CreateDirectory(_directory.Combine("parent")).FullName;
        File.SetUnixFileMode(parent, (UnixFileMode)0x1FF);

        Assert.That(() => RuntimeDirectory.Ensure(Path.Combine(parent, below)), Throws.TypeOf<IOException>());
        Assert.That(Directory.GetFileSystemEntries(parent), Is.Empty);
    }

    // The last part of the path is longer than a file name may be, so it is refused after its parents were made.
    [Test]
    public void Ensure_OfADirectoryThatCannotBeMade_RemovesTheParentsThatItMade()
    {
        string tooLong = new('d', 256);

        Assert.That(
            () => RuntimeDirectory.Ensure(_directory.Combine($"one/two/{tooLong}")),
            Throws.TypeOf<IOException>().With.Message.StartsWith("Cannot "));
        Assert.That(_directory.FileNames, Is.Empty);
    }

    [Test]
    public void PrepareDirectory_OfADefaultDirectoryThatIsRefused_SaysWhoChoseIt()
    {
        string? before = Environment.GetEnvironmentVariable("XDG_RUNTIME_DIR");
        try
        {
            Environment.SetEnvironmentVariable("XDG_RUNTIME_DIR", _directory.Path);
            Directory.CreateDirectory(_directory.Combine("rpcovershm"));
            File.SetUnixFileMode(_directory.Combine("rpcovershm"), (UnixFileMode)0x1FF);
            var address = Addresses.Parse("shm://acme", null);

            Assert.That(
                () => SocketFile.PrepareDirectory(address, AccessPolicy.OwnUserOnly),
                Throws.TypeOf<IOException>().With.Message.Contains("and has mode 0777.").And.Message.EndsWith(
                    " XDG_RUNTIME_DIR is set here; set RuntimeDirectory on both sides to use another directory."));
        }
        finally
        {
            Environment.SetEnvironmentVariable("XDG_RUNTIME_DIR", before);
        }
    }

    [Test]
    public void Ensure_UnderALinkToADirectory_ChecksTheDirectory()
    {
        File.CreateSymbolicLink(_directory.Combine("link"), _directory.Path);

        Assert.That(() => RuntimeDirectory.Ensure(_directory.Combine("link/run")), Throws.Nothing);
    }

    [TestCase("users", 0x1C9)]
    [TestCase("group", 0x1C8)]
    [TestCase("both", 0x1C9)]
    public void Ensure_ForOthers_MakesADirectoryThatTheyMaySearch_WhateverTheUmask(string who, int mode)
    {
        AccessPolicy access = AccessFor(who);
        string directory = _directory.Combine("shared");
        uint umask = NativeCalls.SetUmask(0x3F);
        try
        {
            RuntimeDirectory.Ensure(directory, access);
        }
        finally
        {
            _ = NativeCalls.SetUmask(umask);
        }

        FileFacts facts = FileFacts.OfPath(directory)!.Value;
        Assert.That(facts.ModeText, Is.EqualTo("0" + Convert.ToString(mode, 8)));
        Assert.That(() => RuntimeDirectory.Ensure(directory, access), Throws.Nothing);
        Assert.That(
            () => RuntimeDirectory.Ensure(directory), Throws.TypeOf<IOException>().With.Message.Contains("mode 0700"));
    }

    [TestCase("users", 0x1C8, "that the users in AllowedUsers may search (mode 0711)")]
    [TestCase("users", 0x1C0, "that the users in AllowedUsers may search (mode 0711)")]
    [TestCase("both", 0x1C8, "that the users in AllowedUsers may search (mode 0711)")]
    [TestCase("group", 0x1C0, "the AllowedGroup, may search (that group and mode 0710)")]
    [TestCase("group", 0x1D8, "that nobody else may write to")]
    [TestCase("users", 0x1CB, "that nobody else may write to")]
    [TestCase("users", 0x1ED, null)]
    [TestCase("group", 0x1E8, null)]
    [TestCase("group", 0x1C1, null)]
    public void Ensure_ForOthers_OfADirectoryThatIsThere_ChecksThatTheyMaySearchAndNotWrite(
        string who, int mode, string? problem)
    {
        string directory = Directory.CreateDirectory(_directory.Combine("shared")).FullName;
        File.SetUnixFileMode(directory, (UnixFileMode)mode);

        Assert.That(
            () => RuntimeDirectory.Ensure(directory, AccessFor(who)),
            problem is null ? Throws.Nothing : Throws.TypeOf<IOException>().With.Message.Contains(problem));
    }

    [Test]
    public void Ensure_ForOthers_InAMissingDirectory_IsRefused()
    {
        Assert.That(
            () => RuntimeDirectory.Ensure(_directory.Combine("missing/shared"), AccessFor("users")),
            Throws.TypeOf<IOException>().With.Message.Contains("its parent does not exist"));
        Assert.That(_directory.FileNames, Is.Empty);
    }

    [TestCase(0x1FF, "must not be writable by all users unless it is sticky")]
    [TestCase(0x3FF, null)]
    [TestCase(0x1ED, null)]
    public void PrepareDirectory_OfAPathForOthers_ChecksItsDirectory(int mode, string? problem)
    {
        string directory = Directory.CreateDirectory(_directory.Combine("open")).FullName;
        File.SetUnixFileMode(directory, (UnixFileMode)mode);
        var address = Addresses.Parse($"shm://{directory}/s", null);

        Assert.That(
            () => SocketFile.PrepareDirectory(address, AccessFor("users")),
            problem is null ? Throws.Nothing : Throws.TypeOf<IOException>().With.Message.Contains(problem));
        Assert.That(() => SocketFile.PrepareDirectory(address, AccessPolicy.OwnUserOnly), Throws.Nothing);
    }

    [Test]
    public void Remove_OfAFileThatTookThePlace_LeavesIt()
    {
        string path = _directory.Combine("file");
        File.WriteAllText(path, "mine");
        using var made = PinnedFile.Open(path);
        FileFacts facts = made.Facts;

        File.Delete(path);
        Assert.That(() => RuntimeDirectory.Remove(path, facts), Throws.Nothing);
        File.WriteAllText(path, "another's");
        RuntimeDirectory.Remove(path, facts);
        Assert.That(File.ReadAllText(path), Is.EqualTo("another's"));

        RuntimeDirectory.Remove(path, FileFacts.OfPath(path)!.Value);
        Assert.That(File.Exists(path), Is.False);
    }

    private static AccessPolicy AccessFor(string who)
    {
        uint ownGroup = FileFacts.OfPath("/proc/self/task")!.Value.GroupId;
        return new AccessPolicy(who == "group" ? [] : [12345], who == "users" ? null : ownGroup);
    }

    [Test]
    public void Ensure_OfAnotherUsersDirectory_SaysWhose()
    {
        // Root can create such a directory; other users use an existing one.
        string directory = "/proc";
        uint owner = 0;
        if (LinuxNative.GetEffectiveUserId() == 0)
        {
            directory = Directory.CreateDirectory(_directory.Combine("foreign"), OwnerOnly).FullName;
            owner = 12345;
            Assert.That(NativeCalls.ChangeOwner(directory, owner, owner), Is.Zero);
        }

        Assert.That(
            () => RuntimeDirectory.Ensure(directory),
            Throws.TypeOf<IOException>().With.Message.Contains($"belongs to user {owner}"));
    }
}
