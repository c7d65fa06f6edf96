using RpcOverShm.Connections;

namespace RpcOverShm.FunctionalTests.Connectivity;

/// <summary>
/// The close of idle connections by their channel. The tests make the looks of the timer themselves; it would look only
/// after half an hour.
/// </summary>
[Parallelizable]
internal sealed class IdleTimeoutTests() : RigFixture(RigKind.Shm)
{
    private const int PeerLost = 102;
    private const int Looks = 1 + IdleTimer.QuietChecks;

    [Test]
    public async Task IdleChannel_ClosesInOrder_AndConnectsAgainWithTheNextCall()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using ShmChannel channel = Open(rig);
        var client = new ScriptClient(channel.CreateCallInvoker());

        for (int round = 0; round < 3; round++)
        {
            Assert.That(client.Unary(Payloads.Of("on")).Text(), Is.EqualTo("on"));
            string session = rig.Served.Single().PeerName;
            await QuietAsync(channel);
            Look(channel);

            Assert.That(channel.State, Is.EqualTo(ConnectivityState.Idle));
            await Timeouts.Eventually(() => rig.Served.Count == 0);
            Assert.That(session, Does.EndWith($";session={round + 1}"));
        }

        await CallRig.WhenLoggedAsync();
        Assert.That(rig.Log.Of(PeerLost), Is.Empty, "Each end is orderly.");
    }

    [Test]
    public async Task ChannelWithRunningCalls_StaysConnected([Values] bool isStream)
    {
        var held = new HeldMethods();
        ShmRig rig = await StartShmAsync(held.Script);
        using ShmChannel channel = Open(rig);
        using AnyCall call = AnyCall.Start(
            channel.CreateCallInvoker(), isStream ? MethodType.DuplexStreaming : MethodType.Unary);
        await held.Began.Bounded();

        Look(channel);
        Look(channel);

        Assert.That(channel.State, Is.EqualTo(ConnectivityState.Ready));
        held.Release();
        await call.Outcome.Bounded();
        await QuietAsync(channel);
        Look(channel);
        Assert.That(channel.State, Is.EqualTo(ConnectivityState.Idle));
    }

    [Test]
    public async Task ChannelWithOneWayCallsOnly_StaysConnected()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using ShmChannel channel = Open(rig);
        var client = new ScriptClient(channel.CreateOneWayInvoker());

        for (int i = 0; i < 2 * Looks; i++)
        {
            await client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
            channel.Connections.CheckIdle();
        }

        Assert.That(channel.State, Is.EqualTo(ConnectivityState.Ready));
        await QuietAsync(channel);
        Look(channel);
        Assert.That(channel.State, Is.EqualTo(ConnectivityState.Idle));
    }

    // The timer itself: the shortest time.
    [Test]
    public async Task Timer_OfAChannel_MakesTheLooks()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using ShmChannel channel = rig.OpenChannel(options => options.IdleTimeout = TimeSpan.FromSeconds(1));
        var client = new ScriptClient(channel.CreateCallInvoker());

        for (int round = 0; round < 2; round++)
        {
            client.Unary(Payloads.Empty);
            await channel.WaitForStateChangedAsync(ConnectivityState.Ready).Bounded();
        }

        Assert.That(client.Unary(Payloads.Of("on")).Text(), Is.EqualTo("on"));
    }

    [Test]
    public async Task Calls_ThatStartWhileTheChannelCloses_AllSucceed()
    {
        const int Rounds = 1000;
        ShmRig rig = await StartShmAsync(new Script());
        using ShmChannel channel = Open(rig);
        var race = new IdleRace(channel, channel.Connections.CheckIdle, () => IsQuiet(channel), Rounds);

        race.Run();

        TestContext.Out.WriteLine(race);
        Assert.That(race.Closed, Is.GreaterThan(Rounds / 50), "The channel has closed its connection often.");
    }

    private static ShmChannel Open(ShmRig rig, Action<ShmChannelOptions>? change = null) => rig.OpenChannel(options =>
    {
        options.IdleTimeout = TimeSpan.FromHours(1);
        change?.Invoke(options);
    });

    /// <summary>Waits until the channel has no call: its user may see the end of a call before.</summary>
    private static Task QuietAsync(ShmChannel channel) => Timeouts.Eventually(() => IsQuiet(channel));

    private static bool IsQuiet(ShmChannel channel) =>
        channel.Connections.Current is null or { OutgoingTwoWayCount: 0, OutgoingOneWayCount: 0 };

    private static void Look(ShmChannel channel)
    {
        for (int i = 0; i < Looks; i++)
        {
            channel.Connections.CheckIdle();
        }
    }
}
