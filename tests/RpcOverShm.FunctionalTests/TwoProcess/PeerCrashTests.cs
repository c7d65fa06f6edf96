using System.Diagnostics;
using Grpc.Health.V1;
using RpcOverShm.Diagnostics;
using RpcOverShm.FunctionalTests.Services;
using RpcOverShm.FunctionalTests.Telemetry;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>kill -9 of either side, idle and during calls.</summary>
[OneMode]
internal sealed class PeerCrashTests : StandingPeerFixture
{
    // The contract is one second. This limit keeps a loaded machine from failing the test, which prints the time.
    private static readonly TimeSpan s_wellBelow = TimeSpan.FromSeconds(10);

    [Test]
    public async Task Server_KilledDuringACallWithoutADeadline_EndsIt(
        [Values("blocking", "async", "client-stream", "server-stream", "duplex")] string shape)
    {
        PeerProcess peer = await StartServingPeerAsync();
        ScriptClient client = OpenClient();
        Task call = await HeldCalls.StartAsync(client, shape, peer);

        long killed = Stopwatch.GetTimestamp();
        peer.Kill();
        RpcException failure = await CallFailure.OfAsync(call);
        TimeSpan taken = Stopwatch.GetElapsedTime(killed);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(failure.Status.Detail, Does.Contain($"process {peer.Id}"));
        Report($"kill of the server to the end of a {shape} call", taken);
    }

    [Test]
    public async Task Server_KilledDuringManyCalls_EndsAllOfThem()
    {
        const int Calls = 200;
        PeerProcess peer = await StartServingPeerAsync();
        ScriptClient client = OpenClient();
        Task[] calls = [.. Enumerable.Range(0, Calls).Select(i => i % 20 == 0
            ? Timeouts.OnThread(() => client.Unary(Payloads.Of("hold")))
            : client.UnaryAsync(Payloads.Of("hold")).ResponseAsync)];
        for (int i = 0; i < Calls; i++)
        {
            await peer.NextEventAsync();
        }

        long killed = Stopwatch.GetTimestamp();
        peer.Kill();
        RpcException[] failures = await Task.WhenAll(calls.Select(CallFailure.OfAsync));

        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Unavailable));
        Report($"kill of the server to the end of {Calls} calls", Stopwatch.GetElapsedTime(killed));
    }

    [Test]
    public async Task Server_KilledAtRest_IsReplacedAtOnce()
    {
        PeerProcess peer = await StartServingPeerAsync();
        ScriptClient client = OpenClient();
        Assert.That(client.Unary(Payloads.Of("one")).Text(), Is.EqualTo("one"));

        peer.Kill();
        await peer.Exited.Bounded();
        Assert.That(Directory.FileNames, Is.SubsetOf(new[] { LockName, SocketName }));
        await Log.WaitForAsync(102);
        RpcException failure = await CallFailure.OfBlocking(() => client.Unary(Payloads.Of("nobody")));
        await TakeServingPeerAsync();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(client.Unary(Payloads.Of("two")).Text(), Is.EqualTo("two"));
    }

    [Test]
    public async Task Peer_ThatIsKilled_IsCountedOnce([Values] bool isServer)
    {
        using var recorder = new TelemetryRecorder();
        long before = recorder.Read(TelemetryNames.PeerDeaths);
        PeerProcess peer;
        if (isServer)
        {
            peer = await StartServingPeerAsync();
            _ = OpenClient().Unary(Payloads.Empty);
        }
        else
        {
            await ServeAsync(new Script());
            peer = await StartCallingPeerAsync();
            await peer.DoAsync("echo 10");
        }

        Assert.That(recorder.Read(TelemetryNames.PeerDeaths), Is.EqualTo(before));
        peer.Kill();
        await Log.WaitForAsync(102);

        // Counted before it is logged.
        Assert.That(recorder.Read(TelemetryNames.PeerDeaths), Is.EqualTo(before + 1));
    }

    [Test]
    public async Task Client_KilledDuringACall_FiresTheHandlersToken(
        [Values("blocking", "async", "client-stream", "server-stream", "duplex")] string shape)
    {
        var held = new HeldMethods();
        ShmServer server = await ServeAsync(held.Script);
        PeerProcess peer = await StartCallingPeerAsync();
        await peer.DoAsync($"hold {shape}");
        await held.Began.Bounded();

        long killed = Stopwatch.GetTimestamp();
        peer.Kill();
        await held.Cancelled.Bounded();
        TimeSpan time = Stopwatch.GetElapsedTime(killed);
        await Timeouts.Eventually(() => server.Running!.Connections.Count == 0);

        Report($"kill of the client to the token of a {shape} call's handler", time);
    }

    [Test]
    public async Task Client_KilledWhileTheHandlerReads_MakesTheReadThrow()
    {
        var began = new TaskCompletionSource();
        var ended = new TaskCompletionSource<Exception?>();
        await ServeAsync(new Script
        {
            Duplex = async (requests, _, _) =>
            {
                began.SetResult();
                ended.SetResult(await Thrown.InAllAsync(requests.ToListAsync));
            },
        });
        PeerProcess peer = await StartCallingPeerAsync();
        await peer.DoAsync("hold duplex");
        await began.Task.Bounded();

        peer.Kill();

        Assert.That(await ended.Task.Bounded(), Is.InstanceOf<OperationCanceledException>());
    }

    [Test]
    public async Task Watcher_WhoseProcessIsKilled_IsForgotten()
    {
        var health = new CountedHealthService();
        await ServeAsync(StatusPayloads.Watching(health, "service", 16));
        PeerProcess peer = await StartCallingPeerAsync();
        await peer.DoAsync("hold server-stream");
        await Timeouts.Eventually(() => health.Watches == 1);
        health.SetStatus("service", HealthCheckResponse.Types.ServingStatus.Serving);

        peer.Kill();

        await Timeouts.Eventually(() => health.Watches == 0);
    }

    [Test]
    public async Task Client_KilledInTheMiddleOfManyCalls_HarmsNoOther()
    {
        ShmServer server = await ServeAsync(new Script());
        Log.Expect(301);
        PeerProcess survivor = await TakePeerAsync();
        await survivor.DoAsync($"channel {Address} {Directory.Word}");
        for (int i = 0; i < 5; i++)
        {
            PeerProcess victim = await StartCallingPeerAsync();
            await victim.DoAsync("echo 10");
            await victim.DoAsync($"mix 4 {i}");
            Task<string> calls = survivor.DoAsync("hammer 2 300");
            victim.Kill();
            Assert.That(await calls, Is.EqualTo("0"));
        }

        await Timeouts.Eventually(() => server.Running!.Connections.Count == 1);
        Assert.That(await survivor.DoAsync("shapes"), Is.Empty);
    }

    [Test]
    public async Task Stream_WhosePeerIsKilled_IsDrainedAndThenThrows()
    {
        (PeerProcess peer, ShmStream stream) = await OpenStreamAsync();
        await using ShmStream atTheEnd = stream;
        await peer.DoAsync("stream-write 100000");

        peer.Kill();
        await peer.Exited.Bounded();

        Assert.That(await StreamChecks.CountWrongAsync(stream, 100_000).Bounded(), Is.Zero);
        Assert.That(async () => await stream.ReadAsync(new byte[1]).Bounded(), Throws.InstanceOf<IOException>());
        Assert.That(() => stream.Read(new byte[1]), Throws.InstanceOf<IOException>());
        Assert.That(async () => await stream.WriteAsync(new byte[1]), Throws.InstanceOf<IOException>());
    }

    [Test]
    public async Task Stream_ThatWaits_EndsWhenItsPeerIsKilled([Values] bool isBlocking, [Values] bool isWrite)
    {
        (PeerProcess peer, ShmStream stream) = await OpenStreamAsync();
        await using ShmStream atTheEnd = stream;
        byte[] bytes = new byte[4 << 20];
        Task waiting = (isBlocking, isWrite) switch
        {
            (true, true) => Timeouts.OnThread(() => stream.Write(bytes)),
            (false, true) => stream.WriteAsync(bytes).AsTask(),
            (true, false) => Timeouts.OnThread(() => _ = stream.Read(bytes)),
            (false, false) => stream.ReadAsync(bytes).AsTask(),
        };
        await Task.Delay(50);
        Assert.That(waiting.IsCompleted, Is.False);

        long killed = Stopwatch.GetTimestamp();
        peer.Kill();

        Assert.That(async () => await waiting.Bounded(), Throws.InstanceOf<IOException>());
        Report($"kill of the peer to the end of a {(isWrite ? "write" : "read")}", Stopwatch.GetElapsedTime(killed));
    }

    private static void Report(string what, TimeSpan taken)
    {
        TestContext.Out.WriteLine($"{what}: {taken.TotalMilliseconds:0.0} ms");
        Assert.That(taken, Is.LessThan(s_wellBelow));
    }
}
