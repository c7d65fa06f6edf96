namespace RpcOverShm.FunctionalTests.Lifetimes;

[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class ServerLifetimeTests() : RigFixture(RigKind.Shm)
{
    private static readonly string[] s_files = ["rig.lock", "rig.sock"];

    private readonly HeldMethods _held = new();

    [Test]
    public async Task Add_AfterTheStart_Throws()
    {
        ShmRig rig = await StartShmAsync(new Script());

        Assert.That(
            () => rig.Server.Services.Add(ConformanceContract.BindService(new ConformanceService())),
            Throws.InvalidOperationException.With.Message.Contains("started already"));
    }

    [Test]
    public async Task Start_Twice_Throws()
    {
        ShmRig rig = await StartShmAsync(new Script());

        Assert.That(
            () => rig.Server.StartAsync(), Throws.InvalidOperationException.With.Message.Contains("started already"));
        Assert.That(rig.Client.Unary(Payloads.Of("alive")).Text(), Is.EqualTo("alive"));
    }

    [Test]
    public async Task Start_AfterTheStop_Throws()
    {
        ShmRig rig = await StartShmAsync(new Script());
        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();

        Assert.That(() => rig.Server.StartAsync(), Throws.TypeOf<ObjectDisposedException>().With.Message.StartsWith(
            $"The server at {rig.Server.Address} was stopped, and a server is started once. Create another "));
    }

    [Test]
    public async Task Options_ChangedAfterTheConstruction_HaveNoEffect()
    {
        ShmRig rig = await StartWithoutServerAsync();
        string address = rig.Address + "-copied";
        var options = new ShmServerOptions
        {
            Listen = { RuntimeDirectory = rig.RuntimeDirectory },
            LoggerFactory = rig.Log,
        };
        await using var server = new ShmServer(address, options);
        var channelOptions = new ShmChannelOptions
        {
            Connect = { RuntimeDirectory = rig.RuntimeDirectory },
            LoggerFactory = rig.Log,
        };
        await using ShmChannel channel = ShmChannel.ForAddress(address, channelOptions);

        // Values that the constructors would refuse, and a limit that each message exceeds.
        options.MaxReceiveMessageSize = 0;
        options.Listen.RuntimeDirectory = "none";
        options.Listen.AllowedUsers.Add("nobody of this name");
        options.Interceptors.Add(null!);
        options.MessageInspectors.Add(null!);
        options.Codecs.Add(null!);
        channelOptions.MaxReceiveMessageSize = 0;
        channelOptions.Connect.TrustedServerUsers.Add("nobody of this name");
        channelOptions.MessageInspectors.Add(null!);
        channelOptions.Callbacks.Limits.MaxCallbackDepth = 0;
        server.Services.Add(new Script().Build());
        await server.StartAsync();

        var client = new ScriptClient(channel.CreateCallInvoker());
        Payload response = await client.UnaryAsync(Payloads.Of("alive")).ResponseAsync.Bounded();
        Assert.That(response.Text(), Is.EqualTo("alive"));
    }

    [Test]
    public async Task Start_OfWhatWasDisposedUnstarted_Throws()
    {
        ShmRig rig = await StartShmAsync(new Script());
        ShmServer server = rig.MakeServer();
        await server.DisposeAsync();

        Assert.That(() => server.StartAsync(), Throws.TypeOf<ObjectDisposedException>());
    }

    [Test]
    public async Task Start_WithACancelledToken_DoesNotStart()
    {
        ShmRig rig = await StartWithoutServerAsync();
        ShmServer server = rig.MakeServer();

        Assert.That(
            () => server.StartAsync(new CancellationToken(canceled: true)),
            Throws.InstanceOf<OperationCanceledException>());
        Assert.That(rig.FileNames, Is.Empty);
        await server.StartAsync();
    }

    [Test]
    public async Task Start_WithTwoMethodsOfOneName_Throws()
    {
        ShmRig rig = await StartWithoutServerAsync();
        ShmServer server = rig.MakeServer(new Script().Build(), new Script().Build());

        Assert.That(
            () => server.StartAsync(), Throws.ArgumentException.With.Message.Contains("/rpcovershm.testing.Script/"));
        Assert.That(rig.FileNames, Is.Empty);
    }

    [Test]
    public async Task Start_WhereALiveServerIs_ThrowsAndMayBeTriedAgain()
    {
        ShmRig rig = await StartShmAsync(new Script());
        ShmServer first = rig.Server;
        ShmServer second = rig.MakeServer(new Script().Build());

        ShmTransportException exception = Assert.ThrowsAsync<ShmTransportException>(() => second.StartAsync())!;
        Assert.That(exception.Error, Is.EqualTo(ShmTransportError.AddressInUse));

        // A pipe tells its server's process to its clients only.
        string owner = OperatingSystem.IsWindows() ? "another process, or of this one," : "this process";
        Assert.That(exception.Message, Does.StartWith($"A server of {owner} already").And.Contains(rig.Place));
        Assert.That(rig.Client.Unary(Payloads.Of("first")).Text(), Is.EqualTo("first"));

        await first.StopAsync(TimeSpan.Zero).Bounded();
        await second.StartAsync();

        // A new channel, because the old one may not have noticed yet that its server is gone.
        await using ShmChannel channel = rig.OpenChannel();
        Assert.That(
            new ScriptClient(channel.CreateCallInvoker()).Unary(Payloads.Of("second")).Text(), Is.EqualTo("second"));
    }

    [Test]
    public async Task Stop_OfWhatNeverStarted_DoesNothing()
    {
        ShmRig rig = await StartShmAsync(new Script());
        ShmServer server = rig.MakeServer();

        await server.StopAsync(TimeSpan.Zero).Bounded();
        await server.StopAsync().Bounded();
        await server.StopAsync(TimeSpan.Zero).Bounded();
        await server.DisposeAsync();
    }

    [Test]
    public async Task Stop_WithANegativeTime_Throws()
    {
        ShmRig rig = await StartShmAsync(new Script());

        Assert.That(() => rig.Server.StopAsync(TimeSpan.FromSeconds(-5)), Throws.TypeOf<ArgumentOutOfRangeException>());
        Assert.That(rig.Server.Stopping.IsCancellationRequested, Is.False);
    }

    [Test]
    public async Task Stop_LeavesNoFile()
    {
        ShmRig rig = await StartShmAsync(new Script());
        Assert.That(rig.FileNames, Is.EqualTo(OperatingSystem.IsWindows() ? [rig.Place] : s_files));

        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();

        Assert.That(rig.FileNames, Is.Empty);
    }

    [Test]
    [Item("S18")]
    public async Task StopWithGrace_LetsCallsFinishAndRefusesNewOnes()
    {
        ShmRig rig = await StartShmAsync(_held.Script);

        using AsyncUnaryCall<Payload> running = rig.Client.UnaryAsync(Payloads.Of("held"));
        await _held.Began.Bounded();
        Task stopping = rig.Server.StopAsync(TimeSpan.FromMinutes(1));
        await Timeouts.Eventually(() => rig.FileNames.Length == 0, "the listener is gone");
        await Timeouts.Eventually(() => rig.Served.Single().IsRefusing, "its clients' connections refuse calls");
        RpcException refused = await FailureOf(rig.Client.UnaryAsync(Payloads.Of("new")));

        Assert.That(refused.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(stopping.IsCompleted, Is.False);
        Assert.That(_held.Cancelled.IsCompleted, Is.False);
        _held.Release();
        Assert.That((await running.ResponseAsync.Bounded()).Text(), Is.EqualTo("held"));
        await stopping.Bounded();
    }

    [Test]
    [Item("S18")]
    public async Task StopAfterItsGrace_CancelsWhatStillRuns()
    {
        ShmRig rig = await StartShmAsync(_held.Script);

        using AsyncUnaryCall<Payload> running = rig.Client.UnaryAsync(Payloads.Of("held"));
        await _held.Began.Bounded();
        await rig.Server.StopAsync(TimeSpan.FromMilliseconds(50)).Bounded();
        RpcException failure = await FailureOf(running);
        await _held.Cancelled.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
    }

    [Test]
    [Item("S18")]
    public async Task StopWithoutGrace_EndsEveryShapeUnavailable()
    {
        ShmRig rig = await StartShmAsync(_held.Script);

        Task<RpcException>[] calls =
        [
            FailureOf(rig.Client.UnaryAsync(Payloads.Empty)),
            CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty)),
            FailureOf(rig.Client.ClientStream().ResponseAsync),
            FailureOf(rig.Client.ServerStream(Payloads.Empty).ResponseStream.ToListAsync()),
            FailureOf(rig.Client.Duplex().ResponseStream.ToListAsync()),
        ];
        await Timeouts.Eventually(() => _held.Begun == calls.Length);
        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();
        RpcException[] failures = await Task.WhenAll(calls);

        // The server ends each call itself instead of only closing the connection.
        Assert.That(
            failures.Select(failure => failure.Status.Plain()),
            Is.All.EqualTo(new Status(StatusCode.Unavailable, "The server is shutting down.")));
    }

    // In milliseconds; -1 means no limit. The shorter one counts, also if it is that of the first call.
    [TestCase(-1, 0)]
    [TestCase(-1, 50)]
    [TestCase(600_000, 0)]
    [TestCase(600_000, 50)]
    [TestCase(50, -1)]
    [TestCase(50, 600_000)]
    public async Task Stop_ThatIsUnderWay_EndsWithTheShortestGrace(int first, int later)
    {
        ShmRig rig = await StartShmAsync(_held.Script);

        using AsyncUnaryCall<Payload> running = rig.Client.UnaryAsync(Payloads.Of("held"));
        await _held.Began.Bounded();
        Task stopping = rig.Server.StopAsync(TimeSpan.FromMilliseconds(first));
        await rig.Server.StopAsync(later < 0 ? null : TimeSpan.FromMilliseconds(later)).Bounded();
        await stopping.Bounded();

        Assert.That((await FailureOf(running)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
    }

    [Test]
    public async Task Stop_WhileACallRuns_WaitsForItWithoutALimit()
    {
        ShmRig rig = await StartShmAsync(_held.Script);

        using AsyncUnaryCall<Payload> running = rig.Client.UnaryAsync(Payloads.Of("held"));
        await _held.Began.Bounded();
        Task stopping = rig.Server.StopAsync();
        await Timeouts.Eventually(() => rig.Served.Single().IsRefusing, "its clients' connections refuse calls");
        Assert.That((stopping.IsCompleted, _held.Cancelled.IsCompleted), Is.EqualTo((false, false)));
        _held.Release();

        Assert.That((await running.ResponseAsync.Bounded()).Text(), Is.EqualTo("held"));
        await stopping.Bounded();
    }

    [Test]
    public async Task Stop_ByItsToken_IsHurriedAndDoesNotFail([Values("first", "later", "before")] string when)
    {
        ShmRig rig = await StartShmAsync(_held.Script);
        using var cancellation = new CancellationTokenSource();
        if (when == "before")
        {
            await cancellation.CancelAsync();
        }

        using AsyncUnaryCall<Payload> running = rig.Client.UnaryAsync(Payloads.Of("held"));
        await _held.Began.Bounded();
        Task first = when == "later" ? rig.Server.StopAsync() : Task.CompletedTask;
        Task stopping = rig.Server.StopAsync(null, cancellation.Token);
        await cancellation.CancelAsync();
        await Task.WhenAll(first, stopping).Bounded();

        Assert.That((await FailureOf(running)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
    }

    [Test]
    [Item("S18")]
    public async Task Kill_DoesNotWaitForAMethodThatIgnoresItsToken()
    {
        var began = new TaskCompletionSource();
        var mayEnd = new TaskCompletionSource();
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = async (request, _) =>
            {
                began.SetResult();
                await mayEnd.Task;
                return request;
            },
        });

        using AsyncUnaryCall<Payload> running = rig.Client.UnaryAsync(Payloads.Empty);
        await began.Task.Bounded();
        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();

        Assert.That((await FailureOf(running)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
        mayEnd.SetResult();
    }

    [Test]
    public async Task Stop_WithManyClients_EndsAllConnections()
    {
        ShmRig rig = await StartShmAsync(new Script());
        for (int i = 0; i < 10; i++)
        {
            Assert.That(
                new ScriptClient(rig.OpenChannel().CreateCallInvoker()).Unary(Payloads.Of("x")).Text(),
                Is.EqualTo("x"));
        }

        Assert.That(rig.Served, Has.Count.EqualTo(10));
        await rig.Server.StopAsync(TimeSpan.FromSeconds(10)).Bounded();

        await Timeouts.Eventually(() => rig.Served.Count == 0);
    }

    [Test]
    [LinuxOnly("A pipe is in no directory.")]
    public async Task Stop_WhereTheDirectoryIsGone_StillStops()
    {
        ShmRig rig = await StartShmAsync(new Script());
        Directory.Delete(rig.Directory, recursive: true);

        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();

        Directory.CreateDirectory(rig.Directory);
    }

    [Test]
    public async Task Stop_WithMoreGraceThanTimersGo_WaitsForTheCalls()
    {
        ShmRig rig = await StartShmAsync(_held.Script);
        Task<Payload> call = rig.Client.UnaryAsync(Payloads.Of("last")).ResponseAsync;
        await _held.Began.Bounded();

        Task stopping = rig.Server.StopAsync(TimeSpan.MaxValue);
        _held.Release();

        Assert.That((await call.Bounded()).Text(), Is.EqualTo("last"));
        await stopping.Bounded();
    }

    [Test]
    public async Task Logger_ThatThrows_HarmsNoCall()
    {
        using var directory = new TestDirectory();
        using var logger = new LogGuard { OnEntry = _ => throw new InvalidOperationException("A broken provider.") };
        await using var server = new ShmServer(
            directory.AddressOf("logged"), new ShmServerOptions
            {
                Listen = { RuntimeDirectory = directory.Option },
                LoggerFactory = logger,
            });
        server.Services.Add(new Script { Unary = (_, _) => throw new InvalidOperationException("as asked") }.Build());
        await server.StartAsync();
        await using var channel = ShmChannel.ForAddress(
            directory.AddressOf("logged"), new ShmChannelOptions
            {
                Connect = { RuntimeDirectory = directory.Option },
                LoggerFactory = logger,
            });
        var client = new ScriptClient(channel.CreateCallInvoker());

        for (int i = 0; i < 5; i++)
        {
            RpcException failure = await FailureOf(client.UnaryAsync(Payloads.Empty));
            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unknown));
        }

        List<Payload> responses = await client.ServerStream(Payloads.Of("x")).ResponseStream.ToListAsync();
        Assert.That(responses.Single().Text(), Is.EqualTo("x"));
        await server.StopAsync(TimeSpan.Zero).Bounded();
        RpcException last = await FailureOf(client.UnaryAsync(Payloads.Empty));
        Assert.That(last.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(logger.Entries, Is.Not.Empty, "Something was logged, and thrown.");
    }
}
