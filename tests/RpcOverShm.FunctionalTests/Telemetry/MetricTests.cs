using System.Diagnostics;
using RpcOverShm.Diagnostics;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.FunctionalTests.Telemetry;

/// <summary>
/// The counters of the meter agree with what has happened. They are those of the process, so the tests compare. Dead
/// peers are counted in PeerCrashTests, which has processes that die.
/// </summary>
internal sealed class MetricTests() : RigFixture(RigKind.Shm)
{
    private const int Unread = 5000;

    // More than the ring holds, and far less than a server keeps for a connection.
    private const int StalledMessages = 40;

    // Longer than a wait that is not counted, and shorter than the first spin, also if yields are long, as under Wine.
    private const int MicrosecondsOfAWait = 5;

    private TelemetryRecorder _recorder = null!;

    [SetUp]
    public void Listen() => _recorder = new TelemetryRecorder();

    [TearDown]
    public void StopListening() => _recorder.Dispose();

    [Test]
    public async Task Durations_AgreeWithTheCalls()
    {
        const int Calls = 50;
        CallRig rig = await StartAsync(new Script
        {
            Unary = (request, _) => request.Text() == "no"
                ? throw new RpcException(new Status(StatusCode.NotFound, "none"))
                : Task.FromResult(request),
        });

        foreach (MethodType shape in AnyCall.Shapes)
        {
            for (int i = 0; i < Calls; i++)
            {
                await AnyCall.CallAsync(rig.Invoker, AnyCall.MethodOf(shape), Payloads.Of("yes")).Bounded();
            }
        }

        for (int i = 0; i < Calls; i++)
        {
            Assert.Throws<RpcException>(() => rig.Client.Unary(Payloads.Of("no")));
        }

        await Timeouts.Eventually(() => _recorder.Durations.Count == 2 * 5 * Calls);
        IEnumerable<string> counted = _recorder.Durations
            .CountBy(one => $"{one.Name} {one.Method} {one.Status} {one.Error ?? "-"}")
            .Select(one => $"{one.Key}: {one.Value}");
        const string Service = Script.ServiceName;
        Assert.That(counted, Is.EquivalentTo(
        [
            $"rpc.client.call.duration {Service}/Unary OK -: {Calls}",
            $"rpc.client.call.duration {Service}/Unary NOT_FOUND NOT_FOUND: {Calls}",
            $"rpc.client.call.duration {Service}/ClientStream OK -: {Calls}",
            $"rpc.client.call.duration {Service}/ServerStream OK -: {Calls}",
            $"rpc.client.call.duration {Service}/Duplex OK -: {Calls}",
            $"rpc.server.call.duration {Service}/Unary OK -: {Calls}",
            $"rpc.server.call.duration {Service}/Unary NOT_FOUND -: {Calls}",
            $"rpc.server.call.duration {Service}/ClientStream OK -: {Calls}",
            $"rpc.server.call.duration {Service}/ServerStream OK -: {Calls}",
            $"rpc.server.call.duration {Service}/Duplex OK -: {Calls}",
        ]));
        Assert.That(_recorder.Durations.Select(one => one.Seconds), Is.All.Positive.And.All.LessThan(60));
        Assert.That(_recorder.Durations.Select(one => one.Tags["rpc.system.name"]), Is.All.EqualTo("rpcovershm"));
    }

    [Test]
    public void Durations_HaveBucketsForMicroseconds()
    {
        IReadOnlyList<double> bounds = Diagnostics.Telemetry.ClientDuration.Advice!.HistogramBucketBoundaries!;

        Assert.That(bounds, Is.Ordered);
        Assert.That((bounds[0], bounds[^1]), Is.EqualTo((1e-6, 10.0)));
        Assert.That(Diagnostics.Telemetry.ServerDuration.Advice!.HistogramBucketBoundaries, Is.EqualTo(bounds));
    }

    [Test]
    public async Task ActiveAndQueuedCalls_AreThoseThatRunAndWait()
    {
        var held = new HeldMethods();
        long[] before = ReadCalls();
        ShmRig rig = await StartShmAsync(
            held.Script, new RigOptions { Server = options => options.Limits.MaxConcurrentCallsPerConnection = 2 });

        Task[] calls = [.. Enumerable.Range(0, 5).Select(_ => rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync)];
        await Timeouts.Eventually(() => ReadCalls().Zip(before, (now, then) => now - then).SequenceEqual([5L, 5, 3]));
        held.Release();
        await Task.WhenAll(calls).Bounded();

        await Timeouts.Eventually(() => ReadCalls().SequenceEqual(before), "none is left");

        long[] ReadCalls() =>
        [
            _recorder.Read(TelemetryNames.ClientActiveCalls),
            _recorder.Read(TelemetryNames.ServerActiveCalls),
            _recorder.Read(TelemetryNames.QueuedCalls),
        ];
    }

    [Test]
    public async Task SessionsAndConnections_AreThoseThatAreOpen()
    {
        long sessions = _recorder.Read(TelemetryNames.Sessions);
        long accepted = _recorder.Read(TelemetryNames.Connections, "server");
        long made = _recorder.Read(TelemetryNames.Connections, "client");
        ShmRig rig = await StartShmAsync(new Script());
        ShmChannel other = rig.OpenChannel();
        await rig.ShmChannel.ConnectAsync().Bounded();
        await other.ConnectAsync().Bounded();

        await Timeouts.Eventually(() => _recorder.Read(TelemetryNames.Sessions) == sessions + 2);
        await Timeouts.Eventually(() => _recorder.Read(TelemetryNames.Connections, "server") == accepted + 2);
        Assert.That(_recorder.Read(TelemetryNames.Connections, "client"), Is.EqualTo(made + 2));
        await other.ShutdownAsync();

        await Timeouts.Eventually(() => _recorder.Read(TelemetryNames.Sessions) == sessions + 1);
        await rig.ShutDownServerAsync();
        await rig.ShutDownChannelAsync();
        await Timeouts.Eventually(() => _recorder.Read(TelemetryNames.Sessions) == sessions);
        await Timeouts.Eventually(() => _recorder.Read(TelemetryNames.Connections, "server") == accepted);
        await Timeouts.Eventually(() => _recorder.Read(TelemetryNames.Connections, "client") == made);
    }

    [Test]
    public async Task OrderlyEnd_IsNoPeerDeath()
    {
        long before = _recorder.Read(TelemetryNames.PeerDeaths);
        ShmRig rig = await StartShmAsync(new Script());
        _ = rig.Client.Unary(Payloads.Empty);

        await rig.ShutDownChannelAsync();
        await Timeouts.Eventually(() => rig.Served.Count == 0);

        Assert.That(_recorder.Read(TelemetryNames.PeerDeaths), Is.EqualTo(before));
    }

    [Test]
    public async Task RingGrowth_IsCountedOnceForEachRing()
    {
        long before = _recorder.Read(TelemetryNames.RingGrowths);
        ShmRig rig = await StartShmAsync(new Script());
        Payload large = Payloads.Of(new string('x', 100_000));

        _ = await rig.Client.UnaryAsync(large).ResponseAsync.Bounded();
        await Timeouts.Eventually(() => _recorder.Read(TelemetryNames.RingGrowths) == before + 2);
        _ = await rig.Client.UnaryAsync(large).ResponseAsync.Bounded();

        Assert.That(_recorder.Read(TelemetryNames.RingGrowths), Is.EqualTo(before + 2));
    }

    [Test]
    public async Task Stall_OfAFullRing_IsCounted()
    {
        long before = _recorder.Read(TelemetryNames.RingStalls);
        ShmRig rig = await StartShmAsync(
            new Script
            {
                ServerStream = async (_, responses, _) =>
                {
                    for (int i = 0; i < StalledMessages; i++)
                    {
                        await responses.WriteAsync(Payloads.OfSize(Unread));
                    }
                },
            },
            new RigOptions { RingCapacity = 64 << 10 });
        using RawPeer peer = await RawPeer.ConnectAsync(rig.Place);

        // Until the test reads, the server writes as much as the ring takes, and waits.
        peer.StartServerStream("some");
        await Timeouts.Eventually(() => _recorder.Read(TelemetryNames.RingStalls) > before);

        await peer.ReceiveAsync(FrameKind.End);
    }

    [Test]
    public async Task Calls_ThatFitInTheRing_AreNoStalls()
    {
        long before = _recorder.Read(TelemetryNames.RingStalls);
        CallRig rig = await StartAsync(new Script());

        for (int i = 0; i < StalledMessages; i++)
        {
            _ = await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        }

        Assert.That(_recorder.Read(TelemetryNames.RingStalls), Is.EqualTo(before));
    }

    [TestCase("met", MicrosecondsOfAWait)]
    [TestCase("vain", int.MaxValue)]
    public async Task Spin_IsCountedByItsResult(string result, int microseconds)
    {
        Assume.That(Environment.ProcessorCount, Is.GreaterThan(1), "Nobody spins on one processor.");
        long before = _recorder.Read(TelemetryNames.Spins, result);

        // Not at once if another thread spins just then.
        await Timeouts.Eventually(() =>
        {
            long metAt = Stopwatch.GetTimestamp() + (Stopwatch.Frequency / 1_000_000 * microseconds);
            new SpinBudget().SpinUntil(new TimeHasCome(metAt));
            return _recorder.Read(TelemetryNames.Spins, result) > before;
        });
    }

    [Test]
    public async Task Spin_OfACallerThatBlocksForLong_IsInVain()
    {
        Assume.That(Environment.ProcessorCount, Is.GreaterThan(1), "Nobody spins on one processor.");
        var held = new HeldMethods();
        ShmRig rig = await StartShmAsync(held.Script);
        await rig.ShmChannel.ConnectAsync().Bounded();
        long before = _recorder.Read(TelemetryNames.Spins, "vain");

        Task call = Timeouts.OnThread(() => rig.Client.Unary(Payloads.Empty));
        await Timeouts.Eventually(() => _recorder.Read(TelemetryNames.Spins, "vain") > before);

        held.Release();
        await call.Bounded();
    }

    [Test]
    public async Task TakeOver_IsCounted()
    {
        long before = _recorder.Read(TelemetryNames.TakeOvers);
        using var release = new ManualResetEventSlim();
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (request, _) =>
                {
                    release.Wait();
                    return Task.FromResult(request);
                },
            },
            new RigOptions { Scheduling = ShmSchedulingMode.Inline });

        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        await Timeouts.Eventually(() => _recorder.Read(TelemetryNames.TakeOvers) > before);
        release.Set();

        await call.ResponseAsync.Bounded();
    }

    [Test]
    public async Task WakeUps_OfASleepingPeer_AreCounted()
    {
        long before = _recorder.Read(TelemetryNames.WakeUps);
        long lost = _recorder.Read(TelemetryNames.LostWakeUps);
        ShmRig rig = await StartShmAsync(new Script());

        await Timeouts.Eventually(
            () =>
            {
                _ = rig.Client.Unary(Payloads.Empty);
                return _recorder.Read(TelemetryNames.WakeUps) > before;
            },
            "a peer that sleeps between two calls is woken");

        Assert.That(_recorder.Read(TelemetryNames.LostWakeUps), Is.EqualTo(lost));
    }

    [Test]
    public async Task UnreadBytes_AreThoseOfTheRings_AndNoneAfterTheEnd()
    {
        long before = _recorder.Read(TelemetryNames.RingUnread);
        ShmRig rig = await StartShmAsync(new Script
        {
            ServerStream = (_, responses, _) => responses.WriteAsync(Payloads.OfSize(Unread)),
        });
        using (RawPeer peer = await RawPeer.ConnectAsync(rig.Place))
        {
            // It reads nothing, so what the server writes stays in the ring.
            peer.StartServerStream("some");
            await Timeouts.Eventually(() => _recorder.Read(TelemetryNames.RingUnread) >= before + Unread);
        }

        await Timeouts.Eventually(() => rig.Served.Count == 0);
        Assert.That(_recorder.Read(TelemetryNames.RingUnread), Is.EqualTo(before));
    }

    private readonly struct TimeHasCome(long metAt) : ISpinCondition
    {
        public bool IsMet => Stopwatch.GetTimestamp() >= metAt;
    }
}
