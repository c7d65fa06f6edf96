using RpcOverShm.Linux;

namespace RpcOverShm.FunctionalTests.Access;

/// <summary>
/// Directories that a server cannot use: it takes the other default one with its clients, or is refused and leaves
/// nothing.
/// </summary>
[RootFixture]
[Parallelizable]
[OneMode]
internal sealed class RefusedDirectoryTests : OtherUserFixture
{
    private const uint Sticky = 0x3FF; // 1777
    private const uint ForOwner = 0x1C0; // 0700

    private TestDirectory _places = null!; // of the fixture: the variables of the standing peers name them

    private string Given => _places.Combine("given");

    private string Temporary => _places.Combine("temporary");

    [OneTimeSetUp]
    public void MakePlaces()
    {
        _places = new TestDirectory();
        _places.OpenToOthers();
    }

    [OneTimeTearDown]
    public void RemovePlaces() => _places.Dispose();

    [SetUp]
    public void EmptyPlaces()
    {
        foreach (string left in System.IO.Directory.GetDirectories(_places.Path))
        {
            System.IO.Directory.Delete(left, recursive: true);
        }

        Make(Temporary, user: 0, Sticky);
    }

    [TestCase(12340u, 0x1FFu, "belongs to user 12340 and has mode 0777", Description = "As WSL sets it up.")]
    [TestCase(0u, 0x1EDu, "belongs to user 0 and has mode 0755")]
    [TestCase(12360u, 0x1C0u, "belongs to user 12360 and has mode 0700", Description = "As su leaves it.")]
    [TestCase(null, 0u, "does not exist")]
    public async Task Variable_ThatCannotBeUsed_LeavesBothSidesOfAUserTheSameOtherDirectory(
        uint? owner, uint mode, string problem)
    {
        if (owner is { } user)
        {
            Make(Given, user, mode);
        }

        PeerProcess client = await TakeWithVariablesAsync(Service);
        await client.DoAsync($"channel {Address} -");
        string before = await client.DoAsync("echo 1000");
        PeerProcess server = await TakeWithVariablesAsync(Service);
        await server.DoAsync($"serve {Address} -");

        Assert.That(before, Does.Contain($"'{OtherSocket(Service)}' ({Address}): there is no such socket.").And.Contain(
            "XDG_RUNTIME_DIR is not used here, because ").And.Contain(problem));
        Assert.That(await client.DoAsync("echo 1000"), Is.EqualTo("right"));
        Assert.That(File.Exists(OtherSocket(Service)));
        Assert.That(owner is null || System.IO.Directory.GetFileSystemEntries(Given).Length == 0);
    }

    // What root would leave there would keep the user's own servers out for ever.
    [Test]
    public async Task Root_WithAnotherUsersDirectory_LeavesNothingThere(
        [Values("serve", "stream-listen")] string verb, [Values("-", "rpcovershm", "a/b/rpcovershm")] string below)
    {
        Make(Given, Service.User, ForOwner);
        var root = new PeerUser(0, 0);
        PeerProcess first = await TakeWithVariablesAsync(root);
        string place = below == "-" ? "-" : Path.Combine(Given, below);

        string answer = await first.AskAsync($"{verb} {Address} {place}");
        string[] left = System.IO.Directory.GetFileSystemEntries(Given);
        PeerProcess own = await TakeWithVariablesAsync(Service);
        await own.DoAsync($"{verb} {Address} -");

        Assert.That(answer, below == "-"
            ? Is.EqualTo("ok")
            : Does.StartWith("error ShmTransportException").And.Contain("it belongs to user 12340 and has mode 0700"));
        Assert.That(File.Exists(OtherSocket(root)), Is.EqualTo(below == "-"));
        Assert.That(left, Is.Empty);
        Assert.That(File.Exists(Path.Combine(Given, "rpcovershm", SocketName)));
    }

    // What it would leave has another group, which keeps the server out also when its user has become a member.
    [Test]
    public async Task Server_WhoseUserIsNoMemberOfItsGroup_LeavesNoDirectory()
    {
        string run = Path.Combine(Temporary, "run");
        PeerProcess server = await TakePeerAsync(Service);

        string answer = await server.AskAsync($"serve {Address} {run} - {SharedGroup + 1}");
        bool isLeft = System.IO.Directory.Exists(run);
        await server.DoAsync($"serve {Address} {run} - {SharedGroup}");

        Assert.That(answer, Does.StartWith("error ShmTransportException").And.Contain(
            $"Cannot give '{run}' to group {SharedGroup + 1}"));
        Assert.That(isLeft, Is.False);
    }

    private static void Make(string directory, uint user, uint mode)
    {
        System.IO.Directory.CreateDirectory(directory);
        Assert.That(LinuxNative.ChOwn(directory, user, user), Is.Zero);
        Assert.That(LinuxNative.ChMod(directory, mode), Is.Zero);
    }

    private string OtherSocket(PeerUser user) => Path.Combine(Temporary, $"rpcovershm-{user.User}", SocketName);

    private Task<PeerProcess> TakeWithVariablesAsync(PeerUser user) => TakePeerAsync(
        user with { Variables = [$"XDG_RUNTIME_DIR={Given}", $"TMPDIR={Temporary}"] });
}
