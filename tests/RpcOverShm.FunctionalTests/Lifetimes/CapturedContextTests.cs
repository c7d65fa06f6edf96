using RpcOverShm.FunctionalTests.Streams;

namespace RpcOverShm.FunctionalTests.Lifetimes;

/// <summary>
/// Values of the ExecutionContext in which a channel, a server or a stream is used: they are garbage after the call,
/// although what the call has made lives on.
/// </summary>
internal sealed class CapturedContextTests() : RigFixture(RigKind.Shm)
{
    private static readonly AsyncLocal<object?> s_value = new();

    private static CallOptions Waiting => new CallOptions().WithWaitForReady();

    private static IEnumerable<TestCaseData> FirstUses()
    {
        yield return Use("blocking call", rig => Task.FromResult(rig.Client.Unary(Payloads.Empty)));
        yield return Use("awaited call", rig => rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync);
        yield return Use("connect", rig => rig.ShmChannel.ConnectAsync());
        yield return Use("server stream", async rig =>
        {
            using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
            await call.ResponseStream.ToListAsync();
        });
        yield return Use("duplex stream", async rig =>
        {
            using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
            await call.RequestStream.WriteAsync(Payloads.Empty);
            await call.RequestStream.CompleteAsync();
            await call.ResponseStream.ToListAsync();
        });
        yield return Use("call that is cancelled", async rig =>
        {
            using var cancel = new CancellationTokenSource();
            Task call = rig.Client.Duplex(new CallOptions(cancellationToken: cancel.Token)).ResponseHeadersAsync;
            await cancel.CancelAsync();
            await FailureOf(call);
        });
        yield return Use("call with a deadline", rig => rig.Client.UnaryAsync(
            Payloads.Empty, new CallOptions(deadline: DateTime.UtcNow.AddHours(1))).ResponseAsync);
        yield return Use("large call", rig => rig.Client.UnaryAsync(Payloads.OfSize(1 << 20)).ResponseAsync);
        yield return Use("one-way call", rig =>
            new ScriptClient(rig.ShmChannel.CreateOneWayInvoker()).UnaryAsync(Payloads.Empty).ResponseAsync);
        yield return Use("batch", async rig =>
        {
            using ShmCallBatch batch = rig.ShmChannel.CreateBatch();
            Task call = new ScriptClient(batch.CallInvoker).UnaryAsync(Payloads.Empty).ResponseAsync;
            await batch.SendAsync();
            await call;
        });

        static TestCaseData Use(string name, Func<ShmRig, Task> use) => new TestCaseData(use).SetArgDisplayNames(name);
    }

    [TestCaseSource(nameof(FirstUses))]
    public async Task Value_OfTheFirstUseOfAChannel_IsGarbageAfterIt(Func<ShmRig, Task> use)
    {
        ShmRig rig = await StartShmAsync(new Script());

        WeakReference value = await UnderAValueAsync(() => use(rig));

        await IsGarbageAsync(value);
        await Timeouts.Eventually(() => rig.Served.Count == 1, "The connection has stayed.");
    }

    [TestCaseSource(nameof(FirstUses))]
    public async Task Value_OfTheFirstUseOfAChannelWithEverything_IsGarbageAfterIt(Func<ShmRig, Task> use)
    {
        var options = new RigOptions { Retries = new RigRetries(3, StatusCode.Aborted) };
        ShmRig rig = await StartShmAsync(new Script(), options);
        ShmChannel? idle = null;
        ShmChannel? called = null;

        WeakReference value = await UnderAValueAsync(async () =>
        {
            idle = rig.OpenChannel(static one => one.IdleTimeout = TimeSpan.FromHours(1));
            called = rig.OpenChannel(static one => one.Callbacks.Services.Add(new Script().Build()));
            await idle.ConnectAsync();
            await called.ConnectAsync();
            await use(rig);
        });

        await IsGarbageAsync(value);
        Assert.That((idle!.State, called!.State), Is.EqualTo((ConnectivityState.Ready, ConnectivityState.Ready)));
    }

    [Test]
    public async Task Value_OfTheCallThatReconnects_IsGarbageAfterIt()
    {
        ShmRig rig = await StartShmAsync(new Script());
        rig.Client.Unary(Payloads.Empty);
        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();
        await rig.StartServerAsync(new Script().Build());

        WeakReference value = await UnderAValueAsync(
            () => rig.Client.UnaryAsync(Payloads.Empty, Waiting).ResponseAsync);

        await IsGarbageAsync(value);
        await Timeouts.Eventually(() => rig.Served.Count == 1);
    }

    [Test]
    public async Task Value_OfAWaitForAServerThatWasGivenUp_IsGarbageAfterIt([Values(0, 1, 2)] int what)
    {
        ShmRig rig = await StartWithoutServerAsync();

        WeakReference value = await UnderAValueAsync(async () =>
        {
            using var cancel = new CancellationTokenSource();
            CallOptions options = Waiting.WithCancellationToken(cancel.Token);
            Task waiting = what switch
            {
                0 => rig.ShmChannel.ConnectAsync(cancel.Token),
                1 => rig.Client.UnaryAsync(Payloads.OfSize(1 << 20), options).ResponseAsync,
                _ => Timeouts.OnThread(() => rig.Client.Unary(Payloads.OfSize(1 << 20), options)),
            };
            await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));
            await cancel.CancelAsync();
            await waiting.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        });

        await IsGarbageAsync(value);
        Assert.That(
            rig.ShmChannel.State, Is.AnyOf(ConnectivityState.TransientFailure, ConnectivityState.Connecting));
    }

    // The blocked caller reads the GoAway. The open stream keeps the connection from closing.
    [Test]
    public async Task Value_OfACallThatReadsTheServersLeave_IsGarbageAfterIt()
    {
        ShmRig rig = null!;
        Task stopping = Task.CompletedTask;
        rig = await StartShmAsync(new Script
        {
            Unary = async (request, _) =>
            {
                stopping = rig.Server.StopAsync(TimeSpan.FromHours(1), CancellationToken.None);
                await Timeouts.Eventually(() => rig.ShmChannel.State == ConnectivityState.Idle);
                return request;
            },
        });
        using AsyncDuplexStreamingCall<Payload, Payload> open = rig.Client.Duplex();
        await open.RequestStream.WriteAsync(Payloads.Empty).Bounded();
        await open.ResponseStream.MoveNext(CancellationToken.None).Bounded();

        WeakReference value = await UnderAValueAsync(() => Task.FromResult(rig.Client.Unary(Payloads.Empty)));

        await IsGarbageAsync(value);
        Assert.That(stopping.IsCompleted, Is.False);
        await open.RequestStream.CompleteAsync().Bounded();
        Assert.That(await open.ResponseStream.MoveNext(CancellationToken.None).Bounded(), Is.False);
        await stopping.Bounded();
    }

    [Test]
    public async Task Value_OfTheStartOfAServer_IsGarbageAfterIt()
    {
        ShmRig rig = await StartWithoutServerAsync(new RigOptions
        {
            Server = options =>
            {
                options.IdleTimeout = TimeSpan.FromHours(1);
                options.Limits.MaxConcurrentCalls = 5;
            },
        });

        WeakReference value = await UnderAValueAsync(() => rig.StartServerAsync(new Script().Build()));
        rig.Client.Unary(Payloads.Empty, Waiting);

        await IsGarbageAsync(value);
        await Timeouts.Eventually(() => rig.Served.Count == 1);
    }

    [Test]
    public async Task Value_OfTheUseOfAStream_IsGarbageAfterIt()
    {
        StreamPair? pair = null;

        WeakReference value = await UnderAValueAsync(async () =>
        {
            pair = await StreamPair.OpenAsync();
            ValueTask<int> read = pair.Server.ReadAsync(new byte[1]);
            await pair.Client.WriteAsync(new byte[1]);
            await read;
        });

        await IsGarbageAsync(value);
        await pair!.DisposeAsync();
    }

    // On a thread that ends afterwards, so that nothing of the test refers to the value.
    private static Task<WeakReference> UnderAValueAsync(Func<Task> act) => Timeouts.OnThread(() =>
    {
        s_value.Value = new object();
        act().Bounded().GetAwaiter().GetResult();
        return new WeakReference(s_value.Value);
    });

    private static Task IsGarbageAsync(WeakReference value) => Timeouts.Eventually(
        () =>
        {
            Unobserved.Collect();
            return !value.IsAlive;
        },
        "nothing keeps the value of the context");
}
