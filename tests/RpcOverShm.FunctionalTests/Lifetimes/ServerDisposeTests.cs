namespace RpcOverShm.FunctionalTests.Lifetimes;

/// <summary>The blocking Dispose of a server, on threads that the server itself may need.</summary>
internal sealed class ServerDisposeTests() : RigFixture(RigKind.Shm)
{
    [Test]
    public async Task Dispose_AndAgain_StopsTheServerAtOnce()
    {
        var held = new HeldMethods();
        ShmRig rig = await StartShmAsync(held.Script);
        using AsyncUnaryCall<Payload> running = rig.Client.UnaryAsync(Payloads.Empty);
        await held.Began.Bounded();

        await Timeouts.OnThread(rig.Server.Dispose).Bounded();
        rig.Server.Dispose();
        await rig.Server.DisposeAsync();

        Assert.That(rig.FileNames, Is.Empty);
        Assert.That((await FailureOf(running)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(() => rig.Server.StartAsync(), Throws.TypeOf<ObjectDisposedException>());
    }

    [Test]
    public async Task Dispose_OfWhatNeverStarted_DoesNothing()
    {
        ShmRig rig = await StartShmAsync(new Script());

        await Timeouts.OnThread(rig.MakeServer().Dispose).Bounded();
    }

    [Test]
    public async Task Dispose_HurriesAStopThatIsUnderWay()
    {
        var held = new HeldMethods();
        ShmRig rig = await StartShmAsync(held.Script);
        using AsyncUnaryCall<Payload> running = rig.Client.UnaryAsync(Payloads.Empty);
        await held.Began.Bounded();
        Task stopping = rig.Server.StopAsync();

        await Timeouts.OnThread(rig.Server.Dispose).Bounded();

        await stopping.Bounded();
        Assert.That((await FailureOf(running)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
    }

    // In mode Inline the method runs on the thread that would close the connection.
    [Test]
    public async Task Dispose_InAMethodOfTheServer_Returns([Values] ShmSchedulingMode mode, [Values] bool isBlocking)
    {
        ShmServer? server = null;
        var disposed = new TaskCompletionSource();
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (request, _) =>
                {
                    server?.Dispose();
                    disposed.TrySetResult();
                    return Task.FromResult(request);
                },
            },
            new RigOptions { Scheduling = mode });
        server = rig.Server;

        RpcException failure = isBlocking
            ? await CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty))
            : await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        await disposed.Task.Bounded();
        Assert.That(rig.FileNames, Is.Empty);
    }

    [Test]
    public async Task Dispose_InTheHandlersOfTheServer_Returns([Values("started", "ended", "stopping")] string handler)
    {
        var disposed = new TaskCompletionSource();
        ShmRig rig = await StartShmAsync(new Script());
        ShmServer server = rig.Server;
        void Dispose()
        {
            server.Dispose();
            disposed.TrySetResult();
        }

        switch (handler)
        {
            case "started":
                server.SessionStarted += (_, _) => Dispose();
                break;
            case "ended":
                server.SessionEnded += (_, _) => Dispose();
                break;
            default:
                server.Stopping.Register(Dispose);
                break;
        }

        await rig.ShmChannel.ConnectAsync().Bounded();
        await Timeouts.Eventually(() => rig.Served.Count == 1 || handler == "started");
        Task done = handler switch
        {
            "ended" => rig.ShmChannel.ShutdownAsync(),
            "stopping" => server.StopAsync(),
            _ => Task.CompletedTask,
        };

        await done.Bounded();
        await disposed.Task.Bounded();
        Assert.That(rig.FileNames, Is.Empty);
    }

    [Test]
    public async Task Dispose_OnAllThreadsOfThePool_Returns()
    {
        ShmRig rig = await StartShmAsync(new Script());
        rig.Client.Unary(Payloads.Empty);
        ShmServer server = rig.Server;

        Task[] all = [.. Enumerable.Range(0, 4 * Environment.ProcessorCount).Select(_ => Task.Run(server.Dispose))];

        await Task.WhenAll(all).Bounded();
        Assert.That(rig.FileNames, Is.Empty);
    }
}
