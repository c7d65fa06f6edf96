using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Instances;

/// <summary>At most so many calls run on an instance at a time; the others wait, up to a limit.</summary>
[Parallelizable]
internal sealed class InstanceLimitTests : InstanceFixture
{
    private const int LimitReached = 109;

    private static ShmServiceOptions One => new()
    {
        Lifetime = ShmServiceLifetime.Singleton,
        MaxConcurrentCallsPerInstance = 1,
    };

    [Test]
    public async Task One_CallsOfManyClientsAndThreads_NeverOverlap([Values] bool isPerSession)
    {
        const int Clients = 8;
        const int Threads = 8;
        const int Calls = 20;
        var inside = new System.Collections.Concurrent.ConcurrentDictionary<ProbeService, int>();
        int overlaps = 0;
        var probe = new Probe
        {
            Run = async (service, request, _) =>
            {
                overlaps += inside.AddOrUpdate(service, 1, (_, count) => count + 1) > 1 ? 1 : 0;
                await Task.Yield();
                inside.AddOrUpdate(service, 0, (_, count) => count - 1);
                return request;
            },
        };
        ShmRig rig = await StartAsync(
            probe,
            new ShmServiceOptions
            {
                Lifetime = isPerSession ? ShmServiceLifetime.PerSession : ShmServiceLifetime.Singleton,
                MaxConcurrentCallsPerInstance = 1,
            });

        await Task.WhenAll(Enumerable.Range(0, Clients).SelectMany(_ =>
        {
            ShmChannel channel = rig.OpenChannel();
            return Enumerable.Range(0, Threads).Select(thread => Timeouts.OnThread(() =>
            {
                for (int i = 0; i < Calls; i++)
                {
                    Payload answer = thread % 2 == 0
                        ? To(channel).Echo(Payloads.Of("x"))
                        : To(channel).EchoAsync(Payloads.Of("x")).ResponseAsync.GetAwaiter().GetResult();
                    Assert.That(answer.Text(), Is.EqualTo("x"));
                }
            }));
        })).Bounded();

        Assert.That(overlaps, Is.Zero);
        Assert.That(probe.Created, Is.EqualTo(isPerSession ? Clients : 1));
    }

    [Test]
    public async Task Queue_ThatIsFull_RefusesTheCall_AndTheOthersRunInTheirOrder()
    {
        var held = new HeldRuns();
        ShmServiceOptions options = One;
        options.MaxQueuedCallsPerInstance = 2;
        ShmRig rig = await StartAsync(held, options);
        rig.Log.Expect(LimitReached);
        Task[] calls = [.. await StartInOrderAsync(rig, held, 3)];

        RpcException failure = await FailureOf(To(rig.Channel).EchoAsync(Payloads.Of("3")));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(
            failure.Status.Detail,
            Is.EqualTo("The instance of the service runs at most 1 calls at a time (MaxConcurrentCallsPerInstance), "
                + "and 2 more of one client may wait (MaxQueuedCallsPerInstance)."));
        held.LetAllGo();
        await Task.WhenAll(calls).Bounded();
        Assert.That(held.Begun, Is.EqualTo(["0", "1", "2"]));
    }

    [Test]
    public async Task Clients_OfOneInstance_TakeTurns()
    {
        var held = new HeldRuns();
        ShmRig rig = await StartAsync(held, One);
        ShmChannel[] channels = [.. Enumerable.Range(0, 3).Select(_ => rig.OpenChannel())];
        var calls = new List<Task>();
        foreach (string name in (string[])["a0", "a1", "a2", "a3", "b0", "b1", "c0"])
        {
            calls.Add(To(channels[name[0] - 'a']).EchoAsync(Payloads.Of(name)).ResponseAsync);
            await Timeouts.Eventually(() => held.Arrived == calls.Count);
        }

        held.LetAllGo();
        await Task.WhenAll(calls).Bounded();

        Assert.That(held.Begun, Is.EqualTo((string[])["a0", "a1", "b0", "c0", "a2", "b1", "a3"]));
    }

    [Test]
    public async Task WaitingCall_ThatEnds_LeavesTheQueue([Values] bool isCancelled)
    {
        var held = new HeldRuns();
        ShmServiceOptions options = One;
        options.MaxQueuedCallsPerInstance = 1;
        ShmRig rig = await StartAsync(held, options);
        rig.Log.Expect(LimitReached);
        Task[] calls = [.. await StartInOrderAsync(rig, held, 1)];
        using var cancel = new CancellationTokenSource();
        DateTime? deadline = isCancelled ? null : DateTime.UtcNow.AddSeconds(2);
        Task<RpcException> waiting = FailureOf(
            To(rig.Channel).EchoAsync(Payloads.Of("1"), deadline: deadline, cancellationToken: cancel.Token));
        await Timeouts.Eventually(() => RunningOn(rig) == 2);
        if (isCancelled)
        {
            await cancel.CancelAsync();
        }

        RpcException failure = await waiting.Bounded();
        await Timeouts.Eventually(() => RunningOn(rig) == 1);
        AsyncUnaryCall<Payload> next = To(rig.Channel).EchoAsync(Payloads.Of("2"));
        await Timeouts.Eventually(() => RunningOn(rig) == 2);
        held.LetAllGo();

        await Task.WhenAll([.. calls, next.ResponseAsync]).Bounded();
        Assert.That(
            failure.StatusCode, Is.EqualTo(isCancelled ? StatusCode.Cancelled : StatusCode.DeadlineExceeded));
        Assert.That(held.Begun, Is.EqualTo(["0", "2"]));
    }

    [Test]
    public async Task Stream_CountsUntilItsMethodHasReturned()
    {
        var probe = new Probe();
        ShmRig rig = await StartAsync(probe, One);
        using AsyncDuplexStreamingCall<Payload, Payload> stream = To(rig.Channel).EchoAll();
        await stream.RequestStream.WriteAsync(Payloads.Empty);
        Assert.That(await stream.ResponseStream.MoveNext().Bounded(), Is.True);
        AsyncUnaryCall<Payload> call = To(rig.Channel).EchoAsync(Payloads.Empty);
        await Timeouts.Eventually(() => RunningOn(rig) == 2);
        Assert.That(call.ResponseAsync.IsCompleted, Is.False);

        await stream.RequestStream.CompleteAsync();

        Assert.That(await stream.ResponseStream.MoveNext().Bounded(), Is.False);
        Assert.That((await call.ResponseAsync.Bounded()).Text(), Is.EqualTo("1"));
    }

    [Test]
    public async Task Stop_WithWaitingCalls_LetsThemRun()
    {
        var held = new HeldRuns();
        ShmRig rig = await StartAsync(held, One);
        Task[] calls = [.. await StartInOrderAsync(rig, held, 3)];

        Task stopping = rig.ShutDownServerAsync();
        held.LetAllGo();

        await Task.WhenAll(calls).Bounded();
        await stopping.Bounded();
        Assert.That((held.Probe.Created, held.Probe.Disposed), Is.EqualTo((1, 1)));
    }

    [Test]
    public async Task OneWayCalls_OfASessionThatHasEnded_StillHaveItsInstance()
    {
        var held = new HeldRuns();
        ShmRig rig = await StartAsync(
            held.Probe,
            new ShmServiceOptions { Lifetime = ShmServiceLifetime.PerSession },
            new RigOptions { Server = options => options.Limits.MaxConcurrentCallsPerConnection = 1 });
        var ended = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        rig.Server.SessionEnded += (_, _) => ended.SetResult();
        var client = new ConformanceContract.ConformanceClient(rig.ShmChannel.CreateOneWayInvoker());
        for (int i = 0; i < 3; i++)
        {
            await client.EchoAsync(Payloads.Of($"{i}")).ResponseAsync.Bounded();
        }

        await held.FirstBegun.Bounded();
        await rig.ShmChannel.DisposeAsync();
        await ended.Task.Bounded();
        held.LetAllGo();

        await Timeouts.Eventually(() => held.Probe.Disposed == 1);
        Assert.That(held.Begun, Is.EqualTo(["0", "1", "2"]));
        Assert.That(held.Probe.Created, Is.EqualTo(1));
    }

    // The client may know its connection before the server has it in its table.
    private static long RunningOn(ShmRig rig) => rig.Served.Sum(served => (long)served.PendingOrRunning);

    private Task<ShmRig> StartAsync(HeldRuns held, ShmServiceOptions options) => StartAsync(
        held.Probe, options, new RigOptions { Server = server => server.Interceptors.Add(held) });

    // Each one is at the instance before the next one is made: a pool thread may begin a later one first.
    private static async Task<List<Task>> StartInOrderAsync(ShmRig rig, HeldRuns held, int count)
    {
        await rig.ShmChannel.ConnectAsync().Bounded();
        var calls = new List<Task>();
        for (int i = 0; i < count; i++)
        {
            calls.Add(To(rig.Channel).EchoAsync(Payloads.Of($"{i}")).ResponseAsync);
            await Timeouts.Eventually(() => held.Arrived == i + 1);
        }

        return calls;
    }

    /// <summary>Methods that begin and wait; as an interceptor, it counts the calls that have come to them.</summary>
    private sealed class HeldRuns : Interceptor
    {
        private int _arrived;
        private readonly TaskCompletionSource _let = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private readonly TaskCompletionSource _firstBegun = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public HeldRuns() => Probe = new Probe
        {
            Run = async (_, request, _) =>
            {
                Begun.Enqueue(request.Text());
                _firstBegun.TrySetResult();
                await _let.Task;
                return request;
            },
        };

        public Probe Probe { get; }

        public System.Collections.Concurrent.ConcurrentQueue<string> Begun { get; } = new();

        public Task FirstBegun => _firstBegun.Task;

        /// <summary>The calls that run or wait at their instance.</summary>
        public int Arrived => Volatile.Read(ref _arrived);

        public void LetAllGo() => _let.SetResult();

        public override Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
            TRequest request,
            ServerCallContext context,
            UnaryServerMethod<TRequest, TResponse> continuation)
        {
            Task<TResponse> call = continuation(request, context);
            Interlocked.Increment(ref _arrived);
            return call;
        }
    }
}
