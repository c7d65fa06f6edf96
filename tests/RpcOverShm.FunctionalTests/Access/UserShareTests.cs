namespace RpcOverShm.FunctionalTests.Access;

/// <summary>
/// A user who is let in takes all that one user may have. The server's own user still gets in, and the other one gets
/// in again when it has given something back.
/// </summary>
[RootFixture]
[Parallelizable]
[OneMode]
internal sealed class UserShareTests : OtherUserFixture
{
    private const uint ForUsers = 0x1C9; // 0711
    private const string Trusted = "12340";
    private const string Allowed = "12350";

    [SetUp]
    public void MakeDirectoryForUsers() => MakeRunDirectory(ForUsers);

    // Of 8 connections, the default leaves half to each other user.
    [Test]
    public async Task Connections_OfAnotherUser_LeavePlacesToTheServersOwn()
    {
        PeerProcess server = await StartPeerAsync(Service);
        await server.DoAsync($"serve {Address} {RunDirectory} {Allowed} - 8");
        PeerProcess first = await StartPeerAsync(Guest);
        PeerProcess second = await StartPeerAsync(Guest);
        await second.DoAsync($"channel {Address} {RunDirectory} {Trusted}");

        string[] taken = (await first.DoAsync($"channels {Address} {RunDirectory} {Trusted} 8")).Split(' ', 2);
        string refused = await second.DoAsync("echo 1");
        PeerProcess own = await StartPeerAsync(Service);
        string ofOwn = await own.DoAsync($"channels {Address} {RunDirectory} - 4");
        string beyondAll = await CallAsAsync(Service);
        first.Kill();

        const string Refusal =
            "The server takes no more clients: user 12350 has 4 connections (MaxConnectionsPerUser = 4).";
        Assert.That(taken[0], Is.EqualTo("4"));
        Assert.That(taken[1], Does.StartWith("Unavailable").And.Contains(Refusal));
        Assert.That(refused, Does.StartWith("Unavailable").And.Contains(Refusal), "another process of that user");
        Assert.That(ofOwn, Is.EqualTo("4 right"));
        Assert.That(beyondAll, Does.Contain("there are 8 connections (MaxConnections = 8)"));
        await Timeouts.Eventually(() => second.DoAsync("echo 1").GetAwaiter().GetResult() == "right");
    }

    [Test]
    public async Task WaitingStreams_OfAnotherUser_LeavePlacesToTheListenersOwn()
    {
        PeerProcess listener = await StartPeerAsync(Service);
        await listener.DoAsync($"stream-listen {Address} {RunDirectory} {Allowed} 4");
        PeerProcess guest = await StartPeerAsync(Guest);
        PeerProcess own = await StartPeerAsync(Service);

        string refused = await guest.DoAsync($"stream-crowd {Address} {RunDirectory} {Trusted} 3");
        await own.DoAsync($"stream-connect {Address} {RunDirectory}");
        for (int i = 0; i < 3; i++)
        {
            await listener.DoAsync("stream-accept");
        }

        Task<string> writing = own.DoAsync("stream-write 100000");

        Assert.That(refused, Does.EndWith(
            "2 streams of user 12350, half of MaxWaitingStreams = 4, wait to be accepted. Connect again later, or "
            + "raise MaxWaitingStreams."));
        Assert.That(await listener.DoAsync("stream-read 100000"), Is.EqualTo("0"), "the third is of the own user");
        await writing;

        // Those that were accepted wait no longer, so another one has room.
        await guest.DoAsync($"stream-connect {Address} {RunDirectory} {Trusted}");
        await listener.DoAsync("stream-accept");
        writing = guest.DoAsync("stream-write 1000");
        Assert.That(await listener.DoAsync("stream-read 1000"), Is.EqualTo("0"));
        await writing;
    }
}
