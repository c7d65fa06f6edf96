namespace RpcOverShm.FunctionalTests.Connectivity;

/// <summary>A channel's state: grpc-behaviour.md 1.10. Shared memory only: Grpc.Core has another API.</summary>
internal sealed class ConnectivityStateTests() : RigFixture(RigKind.Shm)
{
    [Test]
    public async Task State_OfAChannelThatHasMadeNoCall_IsIdle()
    {
        ShmRig rig = await StartShmAsync(new Script());

        Assert.That(rig.ShmChannel.State, Is.EqualTo(ConnectivityState.Idle));
        Assert.That(rig.Served, Is.Empty);
    }

    [Test]
    public async Task State_FollowsTheConnection_FromTheFirstCallToTheShutdown()
    {
        ShmRig rig = await StartShmAsync(new Script());
        ShmChannel channel = rig.ShmChannel;

        rig.Client.Unary(Payloads.Empty);
        ConnectivityState called = channel.State;
        Task change = channel.WaitForStateChangedAsync(ConnectivityState.Ready);
        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();
        await change.Bounded();
        ConnectivityState lost = channel.State;
        await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));
        await ReachesAsync(channel, ConnectivityState.TransientFailure);
        await rig.StartServerAsync(new Script().Build());
        await ReachesAsync(channel, ConnectivityState.Ready);
        await channel.ShutdownAsync().Bounded();

        Assert.That(called, Is.EqualTo(ConnectivityState.Ready));
        Assert.That(lost, Is.EqualTo(ConnectivityState.Idle));
        Assert.That(channel.State, Is.EqualTo(ConnectivityState.Shutdown));
    }

    [Test]
    public async Task Connect_WithoutACall_MakesTheConnectionThatCallsUse()
    {
        ShmRig rig = await StartShmAsync(new Script());

        await rig.ShmChannel.ConnectAsync().Bounded();
        ConnectivityState state = rig.ShmChannel.State;
        await rig.ShmChannel.ConnectAsync().Bounded();
        rig.Client.Unary(Payloads.Empty);

        Assert.That(state, Is.EqualTo(ConnectivityState.Ready));
        Assert.That(rig.Served, Has.Count.EqualTo(1));
    }

    [Test]
    public async Task Connect_BeforeThereIsAServer_CompletesWhenThereIs()
    {
        ShmRig rig = await StartWithoutServerAsync();

        Task connecting = rig.ShmChannel.ConnectAsync();
        await ReachesAsync(rig.ShmChannel, ConnectivityState.TransientFailure);
        bool wasEarly = connecting.IsCompleted;
        await rig.StartServerAsync(new Script().Build());
        await connecting.Bounded();

        Assert.That(wasEarly, Is.False);
        Assert.That(rig.ShmChannel.State, Is.EqualTo(ConnectivityState.Ready));
    }

    [Test]
    public async Task Connect_WhoseTokenIsCancelled_IsCancelled()
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var cancel = new CancellationTokenSource();

        Task connecting = rig.ShmChannel.ConnectAsync(cancel.Token);
        await cancel.CancelAsync();

        Assert.That(async () => await connecting.Bounded(), Throws.InstanceOf<OperationCanceledException>());
        Assert.That(
            async () => await rig.ShmChannel.ConnectAsync(cancel.Token),
            Throws.InstanceOf<OperationCanceledException>());
    }

    [Test]
    public async Task Connect_OfAChannelThatIsShutDown_Throws()
    {
        ShmRig rig = await StartWithoutServerAsync();

        Task connecting = rig.ShmChannel.ConnectAsync();
        await rig.ShmChannel.ShutdownAsync().Bounded();

        Assert.That(async () => await connecting.Bounded(), Throws.InstanceOf<ObjectDisposedException>());
        Assert.That(async () => await rig.ShmChannel.ConnectAsync(), Throws.InstanceOf<ObjectDisposedException>());
    }

    [Test]
    public async Task WaitForStateChanged_FromAnotherState_CompletesAtOnce()
    {
        ShmRig rig = await StartShmAsync(new Script());

        Task change = rig.ShmChannel.WaitForStateChangedAsync(ConnectivityState.Ready);

        Assert.That(change.IsCompletedSuccessfully);
    }

    [Test]
    public async Task WaitForStateChanged_FromShutdown_EndsWithItsTokenOnly()
    {
        ShmRig rig = await StartShmAsync(new Script());
        await rig.ShmChannel.ShutdownAsync().Bounded();
        using var cancel = new CancellationTokenSource();

        Task change = rig.ShmChannel.WaitForStateChangedAsync(ConnectivityState.Shutdown, cancel.Token);
        bool wasEarly = change.IsCompleted;
        await cancel.CancelAsync();

        Assert.That(wasEarly, Is.False);
        Assert.That(async () => await change.Bounded(), Throws.InstanceOf<OperationCanceledException>());
    }

    [Test]
    public async Task Server_ThatStopsInOrder_LeavesTheChannelIdle()
    {
        ShmRig rig = await StartShmAsync(new Script());
        await rig.ShmChannel.ConnectAsync().Bounded();

        await rig.Server.StopAsync().Bounded();
        await ReachesAsync(rig.ShmChannel, ConnectivityState.Idle);

        Assert.That(rig.ShmChannel.State, Is.EqualTo(ConnectivityState.Idle));
    }

    [Test]
    public async Task Call_InThePauseAfterAFailure_FailsWithThatFailure_WithoutAnotherAttempt()
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var foreign = new SilentListener(rig.Place, "not a hello, whatever else it may be"u8.ToArray());
        ShmChannel channel = rig.OpenChannel(options =>
        {
            options.InitialReconnectBackoff = TimeSpan.FromHours(1);
            options.MaxReconnectBackoff = TimeSpan.FromHours(1);
        });
        var client = new ScriptClient(channel.CreateCallInvoker());

        Grpc.Core.RpcException first = await FailureOf(client.UnaryAsync(Payloads.Empty));
        Grpc.Core.RpcException second = await FailureOf(client.UnaryAsync(Payloads.Empty));
        Grpc.Core.RpcException third = await CallFailure.OfBlocking(() => client.Unary(Payloads.Empty));

        Assert.That(channel.State, Is.EqualTo(ConnectivityState.TransientFailure));
        Assert.That(second.Status.Plain(), Is.EqualTo(first.Status.Plain()));
        Assert.That(third.Status.Plain(), Is.EqualTo(first.Status.Plain()));
        Assert.That(foreign.ClientCount, Is.EqualTo(1));
    }

    [Test]
    public async Task Attempts_AfterFailures_GoOnByThemselves()
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var foreign = new SilentListener(rig.Place, "not a hello, whatever else it may be"u8.ToArray());

        await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        await Timeouts.Eventually(() => foreign.ClientCount >= 4, "it is tried again");
    }

    private static async Task ReachesAsync(ShmChannel channel, ConnectivityState state)
    {
        while (channel.State is var now && now != state)
        {
            await channel.WaitForStateChangedAsync(now).Bounded();
        }
    }
}
