using RpcOverShm.FunctionalTests.TwoProcess;
using RpcOverShm.Linux;

namespace RpcOverShm.FunctionalTests.Access;

/// <summary>
/// The base of fixtures whose processes run as other users. The server's user is not root, because every server and
/// client trusts root.
/// </summary>
internal abstract class OtherUserFixture : StandingPeerFixture
{
    protected const uint SharedGroup = 43210;

    /// <summary>The user of the server; a member of the group, as an owner must be to give a file to it.</summary>
    protected static readonly PeerUser Service = new(12340, 12340, SharedGroup);

    /// <summary>A user who is named by number.</summary>
    protected static readonly PeerUser Guest = new(12350, 12350);

    /// <summary>A user without any relation to the server.</summary>
    protected static readonly PeerUser Stranger = new(12360, 12360);

    private TestDirectory _programs = null!;

    /// <summary>The server's runtime directory, in a directory that all may search.</summary>
    protected string RunDirectory => Directory.Combine("run");

    protected string SocketPath => Path.Combine(RunDirectory, SocketName);

    [OneTimeSetUp]
    public void CopyPrograms()
    {
        _programs = new TestDirectory();
        PeerProcess.CopyProgramsTo(_programs);
    }

    [OneTimeTearDown]
    public void RemovePrograms() => _programs.Dispose();

    [SetUp]
    public void OpenDirectory() => Directory.OpenToOthers();

    /// <summary>Creates the runtime directory as an administrator does.</summary>
    protected void MakeRunDirectory(uint mode, uint? owner = null, uint? group = null)
    {
        System.IO.Directory.CreateDirectory(RunDirectory);
        Assert.That(LinuxNative.ChOwn(RunDirectory, owner ?? Service.User, group ?? Service.Group), Is.Zero);
        Assert.That(LinuxNative.ChMod(RunDirectory, mode), Is.Zero);
    }

    protected async Task<PeerProcess> StartPeerAsync(PeerUser user)
    {
        PeerProcess peer = await PeerProcess.StartAsync(user, _programs.Path, "RpcOverShm.TestPeer");
        Adopt(peer);
        return peer;
    }

    /// <summary>Returns a standing peer of this user that the test does not have yet.</summary>
    protected Task<PeerProcess> TakePeerAsync(PeerUser user) =>
        TakePeerAsync(string.Join(' ', user.Wrap([])), () => StartPeerAsync(user));

    /// <summary>Starts a server with these options; "-" stands for none.</summary>
    protected async Task<PeerProcess> ServeAsync(string users, string group)
    {
        PeerProcess server = await TakePeerAsync(Service);
        await server.DoAsync($"serve {Address} {RunDirectory} {users} {group}");
        return server;
    }

    /// <summary>Makes a call as a user who trusts the server's; returns "right" or the status.</summary>
    protected async Task<string> CallAsAsync(PeerUser user, string? trusted = null)
    {
        PeerProcess client = await TakePeerAsync(user);
        await client.DoAsync($"channel {Address} {RunDirectory} {trusted ?? $"{Service.User}"}");
        return await client.DoAsync("echo 1000");
    }
}
