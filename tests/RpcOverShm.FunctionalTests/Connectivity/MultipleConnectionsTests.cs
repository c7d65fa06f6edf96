using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Servers;

namespace RpcOverShm.FunctionalTests.Connectivity;

/// <summary>Channels with several connections: how many there are, which calls they take, how they end.</summary>
internal sealed class MultipleConnectionsTests() : RigFixture(RigKind.Shm)
{
    private const int NoExtraConnection = 117;
    private const int PeerLost = 102;
    private const int LimitReached = 109;
    private const int Callers = 6;

    private static readonly TimeSpan s_noSilence = TimeSpan.FromHours(1);

    [Test]
    public async Task BlockingCallers_GetConnectionsUpToTheMost_AndEachTheRightAnswer()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using ShmChannel channel = OpenFor16Processors(rig, s_noSilence);
        await using var load = new BlockingLoad(channel, Callers);

        await Timeouts.Eventually(() => rig.Served.Count == 4);
        await load.MakeAsync(calls: 3 * ConnectionDemand.WaitsToGrow);

        Assert.That(rig.Served, Has.Count.EqualTo(4));
        Guid[] channels = [.. rig.Served.Select(served => served.Connection.ChannelId).Distinct()];
        Assert.That(channels, Has.Length.EqualTo(1).And.None.EqualTo(Guid.Empty));
        await load.EndAsync();
        Assert.That(load.Failures, Is.Empty);
    }

    [Test]
    public async Task WithoutTheOption_ThereIsOneConnection()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using ShmChannel channel = rig.OpenChannel(options => options.PoolSettings = new(4, s_noSilence));
        await using var load = new BlockingLoad(channel, Callers);

        await load.MakeAsync(calls: 20 * ConnectionDemand.WaitsToGrow);

        Assert.That(new ShmChannelOptions().EnableMultipleConnections, Is.False);
        Assert.That(rig.Served, Has.Count.EqualTo(1));
        await load.EndAsync();
        Assert.That(load.Failures, Is.Empty);
    }

    [Test]
    public async Task BlockingCalls_AllocateNoMoreThanOnAChannelWithOneConnection()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using ShmChannel one = rig.OpenChannel();
        using ShmChannel many = OpenFor16Processors(rig, s_noSilence);

        Assert.That(AllocatedByCalls(many), Is.LessThanOrEqualTo(AllocatedByCalls(one)).And.Positive);
    }

    [Test]
    public async Task ChannelIds_OfTwoChannels_Differ()
    {
        ShmRig rig = await StartShmAsync(new Script());
        rig.Client.Unary(Payloads.Empty);
        using ShmChannel other = rig.OpenChannel();
        new ScriptClient(other.CreateCallInvoker()).Unary(Payloads.Empty);

        Assert.That(rig.Served.Select(served => served.Connection.ChannelId), Is.Unique);
    }

    [Test]
    public async Task ExtraConnections_CloseAfterSilence_AndNoCallFails()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using ShmChannel channel = OpenFor16Processors(rig, TimeSpan.FromMilliseconds(20));
        for (int round = 0; round < 3; round++)
        {
            await using var load = new BlockingLoad(channel, Callers);
            await Timeouts.Eventually(() => rig.Served.Count > 1);
            await load.EndAsync();
            Assert.That(load.Failures, Is.Empty);

            await Timeouts.Eventually(() => rig.Served.Count == 1);
        }

        Assert.That(channel.State, Is.EqualTo(ConnectivityState.Ready));
        Assert.That(new ScriptClient(channel.CreateCallInvoker()).Unary(Payloads.Of("on")).Text(), Is.EqualTo("on"));
        await CallRig.WhenLoggedAsync();
        Assert.That(rig.Log.Of(PeerLost), Is.Empty, "Each end is orderly.");
    }

    [Test]
    public async Task ExtraConnection_WithALivingStream_OutlivesTheSilence()
    {
        var release = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Script script = AnsweringWithConnection();
        script.ServerStream = (_, _, _) => release.Task;
        ShmRig rig = await StartShmAsync(script);
        var silence = TimeSpan.FromMilliseconds(200);
        using ShmChannel channel = OpenFor16Processors(rig, silence);
        var client = new ScriptClient(channel.CreateCallInvoker());
        await channel.ConnectAsync().Bounded();
        await Timeouts.Eventually(() => rig.Served.Count == 1);
        string main = $"{rig.OnlyConnection.Id}";
        AsyncServerStreamingCall<Payload>[] backlog =
        [
            .. Enumerable.Range(0, ConnectionPool.AwaitedBacklog + 1).Select(_ => client.ServerStream(Payloads.Empty)),
        ];
        await using var load = new BlockingLoad(channel, Callers);

        AsyncDuplexStreamingCall<Payload, Payload> stream = client.Duplex();
        string connection = await AskConnectionAsync(stream);
        while (connection == main)
        {
            stream.Dispose();
            stream = client.Duplex();
            connection = await AskConnectionAsync(stream);
        }

        await load.EndAsync();
        await Timeouts.Eventually(() => rig.Served.Count == 2, "the other extra connections are closed");
        Assert.That(await AskConnectionAsync(stream), Is.EqualTo(connection));

        // No event announces that a connection stays. It also goes on taking calls.
        await Task.Delay(3 * silence);
        AsyncDuplexStreamingCall<Payload, Payload> second = client.Duplex();
        Assert.That(await AskConnectionAsync(second), Is.EqualTo(connection));
        second.Dispose();
        stream.Dispose();
        await Timeouts.Eventually(() => rig.Served.Count == 1);
        release.SetResult();
        foreach (AsyncServerStreamingCall<Payload> call in backlog)
        {
            Assert.That(await call.ResponseStream.ToListAsync(), Is.Empty);
            call.Dispose();
        }
    }

    [Test]
    public async Task Server_ThatRefusesAnotherConnection_IsAskedOnceAndTheCallsGoOn()
    {
        ShmRig rig = await StartShmAsync(
            new Script(), new RigOptions { Server = options => options.Listen.MaxConnectionsPerProcess = 1 });
        using ShmChannel channel = OpenFor16Processors(rig, s_noSilence);
        await using var load = new BlockingLoad(channel, Callers);

        LogEntry entry = await rig.Log.WaitForAsync(NoExtraConnection);
        await load.MakeAsync(calls: 5 * ConnectionDemand.WaitsToGrow);
        await load.EndAsync();
        await CallRig.WhenLoggedAsync();

        Assert.That(entry.Level, Is.EqualTo(Microsoft.Extensions.Logging.LogLevel.Information));
        Assert.That(entry.Message, Does.Contain("stays with 1").And.Contain("MaxConnectionsPerProcess = 1"));
        Assert.That(rig.Log.Of(NoExtraConnection), Has.Count.EqualTo(1));
        Assert.That(rig.Log.Of(LimitReached), Has.Count.EqualTo(1));
        Assert.That(load.Failures, Is.Empty);
    }

    [TestCase(0)]
    [TestCase(1)]
    public async Task LossOfOneConnection_FailsItsCallsOnly(int lost)
    {
        ShmRig rig = await StartShmAsync(new Script());
        using ShmChannel channel = OpenFor16Processors(rig, s_noSilence);
        await using var load = new BlockingLoad(channel, Callers);
        await Timeouts.Eventually(() => rig.Served.Count == 4);
        Task changed = channel.WaitForStateChangedAsync(ConnectivityState.Ready);

        Connection broken = rig.Served.OrderBy(served => served.PeerName).ElementAt(lost).Connection;
        broken.Close(new CloseReason(CloseKind.Local, "The test breaks it."));
        await broken.Closed.Bounded();
        await load.MakeAsync(calls: 1000);
        await load.EndAsync();

        Assert.That(load.Failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Unavailable));
        Assert.That(load.Failures, Has.Count.LessThanOrEqualTo(Callers), "One for each caller that was there.");
        Assert.That(changed.IsCompleted, Is.False);
        Assert.That(channel.State, Is.EqualTo(ConnectivityState.Ready));
    }

    [Test]
    public async Task Restarts_UnderLoad_EndEachCallWellOrUnavailable([Values] bool isGraceful)
    {
        ShmRig rig = await StartShmAsync(new Script());
        using ShmChannel channel = OpenFor16Processors(rig, s_noSilence);
        await using var load = new BlockingLoad(channel, Callers);
        for (int i = 0; i < 5; i++)
        {
            // All of them: an attempt to add one that fails with the server would be followed by a pause of a minute.
            await Timeouts.Eventually(() => rig.Served.Count == 4);
            await rig.Server.StopAsync(isGraceful ? TimeSpan.FromSeconds(10) : TimeSpan.Zero).Bounded();
            await rig.StartServerAsync(new Script().Build());
        }

        await load.MakeAsync(calls: 100);
        await load.EndAsync();

        Assert.That(load.Failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Unavailable));
    }

    [Test]
    public async Task Dispose_ClosesAllConnections()
    {
        ShmRig rig = await StartShmAsync(new Script());
        ShmChannel channel = OpenFor16Processors(rig, s_noSilence);
        await using var load = new BlockingLoad(channel, Callers);
        await Timeouts.Eventually(() => rig.Served.Count == 4);

        await channel.DisposeAsync().Bounded();

        await Timeouts.Eventually(() => rig.Served.Count == 0);
        await load.EndAsync();
        Assert.That(load.Failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Cancelled));
        await CallRig.WhenLoggedAsync();
        Assert.That(rig.Log.Of(PeerLost), Is.Empty, "An orderly end is no loss.");
    }

    [Test]
    public async Task AwaitedCallsAndStreams_StayOnTheFirst_BesideBlockingCallers()
    {
        var used = new HashSet<string>();
        ShmRig rig = await StartShmAsync(AnsweringWithConnection());
        using ShmChannel channel = OpenFor16Processors(rig, s_noSilence);
        var client = new ScriptClient(channel.CreateCallInvoker());
        using AsyncDuplexStreamingCall<Payload, Payload> stream = client.Duplex();
        string main = await AskConnectionAsync(stream);
        await using var load = new BlockingLoad(channel, Callers);
        await Timeouts.Eventually(() => rig.Served.Count == 4);

        for (int i = 0; i < 50; i++)
        {
            used.Add(await AskConnectionAsync(stream));
            using AsyncClientStreamingCall<Payload, Payload> call = client.ClientStream();
            used.Add((await call.ResponseAsync.Bounded()).Text());
        }

        await load.EndAsync();
        Assert.That(used, Is.EquivalentTo(new[] { main }));
    }

    /// <summary>The bytes that this thread allocates for a thousand blocking calls, once all code has run.</summary>
    private static long AllocatedByCalls(ShmChannel channel)
    {
        var client = new ScriptClient(channel.CreateCallInvoker());
        long least = long.MaxValue;
        for (int round = 0; round < 10; round++)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int i = 0; i < 1000; i++)
            {
                client.Unary(Payloads.Empty);
            }

            least = Math.Min(least, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        return least;
    }

    /// <summary>Methods whose streams answer with the connection of their call.</summary>
    private static Script AnsweringWithConnection() => new()
    {
        Duplex = async (requests, responses, context) =>
        {
            while (await requests.MoveNext(CancellationToken.None))
            {
                await responses.WriteAsync(Payloads.Of($"{((ShmServerCallContext)context).ConnectionId}"));
            }
        },
        ClientStream = (_, context) => Task.FromResult(Payloads.Of($"{((ShmServerCallContext)context).ConnectionId}")),
    };

    private static async Task<string> AskConnectionAsync(AsyncDuplexStreamingCall<Payload, Payload> stream)
    {
        await stream.RequestStream.WriteAsync(Payloads.Empty).Bounded();
        Assert.That(await stream.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        return stream.ResponseStream.Current.Text();
    }

    private static ShmChannel OpenFor16Processors(ShmRig rig, TimeSpan silence) => rig.OpenChannel(options =>
    {
        options.EnableMultipleConnections = true;
        options.PoolSettings = ConnectionPoolSettings.For(processors: 16) with { Silence = silence };
    });
}
