using RpcOverShm.Links;
using RpcOverShm.Segments;
using RpcOverShm.Tests.Segments;

namespace RpcOverShm.Tests.Links;

/// <summary>Changes an environment variable of the process, so it runs alone.</summary>
[NonParallelizable]
public class RuntimeDirectoryTests
{
    private const string Variable = "XDG_RUNTIME_DIR";
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    private readonly TestDirectory _directory = new();
    private readonly string? _variableBefore = Environment.GetEnvironmentVariable(Variable);

    [TearDown]
    public void Restore()
    {
        Environment.SetEnvironmentVariable(Variable, _variableBefore);
        _directory.Dispose();
    }

    [Test]
    public void Default_WhereTheSystemGivesOne_IsUnderIt()
    {
        Environment.SetEnvironmentVariable(Variable, "/run/user/7");

        Assert.That(RuntimeDirectory.Default, Is.EqualTo("/run/user/7/rpcovershm"));
    }

    [TestCase(null)]
    [TestCase("")]
    [TestCase("relative/path")]
    public void Default_WhereTheSystemGivesNone_IsTheUsersOwnUnderTheTemporaryFiles(string? value)
    {
        Environment.SetEnvironmentVariable(Variable, value);

        string expected = Path.Combine(Path.GetTempPath(), $"rpcovershm-{LinuxNative.GetEffectiveUserId()}");
        Assert.That(RuntimeDirectory.Default, Is.EqualTo(expected));
    }

    [TestCase("/run/user/7", "XDG_RUNTIME_DIR is set here; ")]
    [TestCase(null, "XDG_RUNTIME_DIR is not set here; ")]
    public void Advice_OfAnAddress_SaysWhetherTheVariableIsSet(string? value, string start)
    {
        Environment.SetEnvironmentVariable(Variable, value);

        Assert.That(RendezvousAddress.Parse("shm://acme", null).Advice, Is.EqualTo(
            start + "a server that was started with another one listens elsewhere: set RuntimeDirectory on both."));
    }

    [Test]
    public void Ensure_OfAMissingDirectory_MakesItForTheOwnerAlone()
    {
        string directory = _directory.Combine("new");

        RuntimeDirectory.Ensure(directory);

        Assert.That(File.GetUnixFileMode(directory), Is.EqualTo(OwnerOnly));
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
