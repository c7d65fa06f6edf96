using RpcOverShm.Connections;
using RpcOverShm.FunctionalTests.Callbacks;
using RpcOverShm.FunctionalTests.Connectivity;

namespace RpcOverShm.FunctionalTests.Lifetimes;

/// <summary>
/// The end of idle sessions by their server. The tests make the looks of the timer themselves; it would look only after
/// half an hour.
/// </summary>
internal sealed class IdleSessionTests : CallbackFixture
{
    private const int PeerLost = 102;
    private const int SessionIdle = 315;

    private static RigOptions Options => new() { Server = options => options.IdleTimeout = TimeSpan.FromHours(1) };

    [Test]
    public async Task IdleSession_Ends_AndTheNextCallBeginsAnother()
    {
        var ended = new TaskCompletionSource<ShmSession>();
        ShmRig rig = await StartShmAsync(new Script(), Options);
        rig.Server.SessionEnded += (_, session) => ended.TrySetResult(session);
        rig.Client.Unary(Payloads.Empty);
        await QuietAsync(rig);

        Look(rig);
        ShmSession first = await ended.Task.Bounded();

        await Timeouts.Eventually(() => rig.ShmChannel.State == ConnectivityState.Idle);
        Assert.That(first.Closed.IsCancellationRequested);
        Assert.That(rig.Client.Unary(Payloads.Of("on")).Text(), Is.EqualTo("on"));
        Assert.That(rig.Served.Single().PeerName, Does.EndWith(";session=2"));
        await CallRig.WhenLoggedAsync();
        Assert.That(rig.Log.Of(PeerLost), Is.Empty, "The end is orderly.");
        Assert.That(rig.Log.Of(SessionIdle).Single().Message, Does.Contain("session=1").And.Contain("IdleTimeout"));
    }

    [Test]
    public async Task Timer_OfAServer_MakesTheLooks()
    {
        ShmRig rig = await StartShmAsync(
            new Script(), new RigOptions { Server = options => options.IdleTimeout = TimeSpan.FromSeconds(1) });

        for (int round = 0; round < 2; round++)
        {
            rig.Client.Unary(Payloads.Empty);
            await rig.ShmChannel.WaitForStateChangedAsync(ConnectivityState.Ready).Bounded();
        }
    }

    [Test]
    public async Task SessionWithARunningCall_OrACallBetweenLooks_GoesOn()
    {
        var held = new HeldMethods();
        Script script = held.Script;
        script.Unary = (request, _) => Task.FromResult(request);
        ShmRig rig = await StartShmAsync(script, Options);
        using AsyncServerStreamingCall<Payload> stream = rig.Client.ServerStream(Payloads.Empty);
        await held.Began.Bounded();

        Look(rig);
        Look(rig);
        Assert.That(rig.ShmChannel.State, Is.EqualTo(ConnectivityState.Ready));
        held.Release();
        await stream.ResponseStream.ToListAsync().Bounded();
        for (int i = 0; i < 5; i++)
        {
            await QuietAsync(rig);
            rig.Server.Running!.CheckIdle();
            rig.Server.Running!.CheckIdle();
            rig.Client.Unary(Payloads.Empty);
        }

        await CallRig.WhenLoggedAsync();
        Assert.That(rig.Log.Of(SessionIdle), Is.Empty);
        Assert.That(rig.Served.Single().PeerName, Does.EndWith(";session=1"));
    }

    [Test]
    public async Task MethodThatIgnoresItsToken_KeepsTheSession()
    {
        var begun = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var mayEnd = new TaskCompletionSource();
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = async (request, _) =>
                {
                    begun.SetResult();
                    await mayEnd.Task;
                    return request;
                },
            },
            Options);
        using var cancel = new CancellationTokenSource();
        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(
            Payloads.Empty, new CallOptions(cancellationToken: cancel.Token));
        await begun.Task.Bounded();
        await cancel.CancelAsync();
        await FailureOf(call);
        await Timeouts.Eventually(() => rig.Served.Single() is { PendingOrRunning: 1, Connection.IncomingCount: 0 });

        Look(rig);
        Look(rig);
        await CallRig.WhenLoggedAsync();
        Assert.That(rig.Log.Of(SessionIdle), Is.Empty);

        mayEnd.SetResult();
        await QuietAsync(rig);
        Look(rig);
        await rig.Log.WaitForAsync(SessionIdle);
    }

    [Test]
    public async Task RunningCallback_KeepsTheSession()
    {
        ShmSession? session = null;
        var held = new HeldMethods();
        (ShmRig rig, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = (request, context) =>
                {
                    session = context.GetShmSession();
                    return Task.FromResult(request);
                },
            },
            held.Script,
            options: Options);
        To(channel).Unary(Payloads.Empty);
        AsyncUnaryCall<Payload> callback = new ScriptClient(session!.CreateCallInvoker())
            .UnaryAsync(Payloads.Of("late"));
        await held.Began.Bounded();

        Look(rig);
        Look(rig);
        Assert.That(channel.State, Is.EqualTo(ConnectivityState.Ready));
        held.Release();
        Assert.That((await callback).Text(), Is.EqualTo("late"));

        await QuietAsync(rig);
        Look(rig);
        await Timeouts.Eventually(() => session.Closed.IsCancellationRequested);
        Assert.That(channel.State, Is.EqualTo(ConnectivityState.Idle));
    }

    [TestCase(100)]
    [TestCase(1000, Category = LongAttribute.Name)]
    public async Task Calls_ThatCrossTheRequestToLeave_AllSucceed(int rounds)
    {
        ShmRig rig = await StartShmAsync(new Script(), Options);
        var race = new IdleRace(rig.ShmChannel, rig.Server.Running!.CheckIdle, () => IsQuiet(rig), rounds);

        race.Run();

        TestContext.Out.WriteLine(race);
        Assert.That(race.Closed, Is.GreaterThan(rounds / 50), "The server has ended the session often.");
    }

    private static void Look(ShmRig rig)
    {
        for (int i = 0; i < 1 + IdleTimer.QuietChecks; i++)
        {
            rig.Server.Running!.CheckIdle();
        }
    }

    /// <summary>Waits until the server has no call: the client may see the end of a call before.</summary>
    private static Task QuietAsync(ShmRig rig) => Timeouts.Eventually(() => IsQuiet(rig));

    private static bool IsQuiet(ShmRig rig) => rig.Served.All(
        one => one is { PendingOrRunning: 0, Connection: { IncomingCount: 0, OutgoingTwoWayCount: 0 } });
}
