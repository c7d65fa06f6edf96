namespace RpcOverShm.FunctionalTests.Scheduling;

/// <summary>
/// Methods and continuations that block or wait for other calls: in every mode the connection's other calls go on.
/// </summary>
[TestFixture(ShmSchedulingMode.Adaptive)]
[TestFixture(ShmSchedulingMode.Inline)]
[TestFixture(ShmSchedulingMode.ThreadPool)]
internal sealed class BlockingCodeTests(ShmSchedulingMode mode) : RigFixture(RigKind.Shm), IDisposable
{
    private const string Block = "block";

    private readonly ManualResetEventSlim _mayGoOn = new();
    private readonly RigOptions _options = new() { Scheduling = mode };

    private bool IsInline => mode != ShmSchedulingMode.ThreadPool;

    public void Dispose() => _mayGoOn.Dispose();

    [SetUp]
    public void CloseTheGate() => _mayGoOn.Reset();

    [TearDown]
    public void OpenTheGate() => _mayGoOn.Set();

    [TestCase(1)]
    [TestCase(8)]
    [Item("S19")]
    public async Task MethodThatBlocks_StallsNoOtherCall(int blocked)
    {
        ShmRig rig = await StartShmAsync(BlockingScript(), _options);

        // On an open connection calls begin in order.
        rig.Client.Unary(Payloads.Empty);
        Task<Payload>[] held =
            [.. Enumerable.Range(0, blocked).Select(_ => rig.Client.UnaryAsync(Payloads.Of(Block)).ResponseAsync)];

        for (int i = 0; i < 50; i++)
        {
            Assert.That((await rig.Client.UnaryAsync(Payloads.OfSize(i)).ResponseAsync.Bounded()).IsOfSize(i));
            Assert.That(rig.Client.Unary(Payloads.OfSize(i)).IsOfSize(i));
        }

        Assert.That(held.Select(call => call.IsCompleted), Is.All.False);
        Assert.That(rig.OnlyConnection.TakeOvers, IsInline ? Is.Positive : Is.Zero);
        _mayGoOn.Set();
        await Task.WhenAll(held).Bounded();
        Assert.That(
            (await rig.Client.UnaryAsync(Payloads.Of("after")).ResponseAsync.Bounded()).Text(), Is.EqualTo("after"));
    }

    [Test]
    public async Task Method_ThatBlocksAgainAndAgain_LeavesNoThreadBehind()
    {
        ShmRig rig = await StartShmAsync(BlockingScript(), _options);
        rig.Client.Unary(Payloads.Empty);
        for (int i = 0; i < 20; i++)
        {
            _mayGoOn.Reset();
            Task<Payload> held = rig.Client.UnaryAsync(Payloads.Of(Block)).ResponseAsync;
            Assert.That(rig.Client.Unary(Payloads.OfSize(i)).IsOfSize(i));
            _mayGoOn.Set();
            await held.Bounded();
        }

        // Event loops and their spares are not counted.
        await Timeouts.Eventually(() => ProcessFacts.OfSelf().Threads == 0, "no thread is left");
    }

    [Test]
    public async Task Continuation_ThatBlocks_StallsNoOtherCall()
    {
        ShmRig rig = await StartShmAsync(new Script(), _options);
        rig.Client.Unary(Payloads.Empty);
        var isBlocked = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Task blocked = Task.Run(BlockAfterAsync);
        await isBlocked.Task.Bounded();

        for (int i = 0; i < 50; i++)
        {
            Assert.That((await rig.Client.UnaryAsync(Payloads.OfSize(i)).ResponseAsync.Bounded()).IsOfSize(i));
            Assert.That(rig.Client.Unary(Payloads.OfSize(i)).IsOfSize(i));
        }

        _mayGoOn.Set();
        await blocked.Bounded();

        async Task BlockAfterAsync()
        {
            await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.ConfigureAwait(false);
            isBlocked.SetResult();
            _mayGoOn.Wait(Timeouts.Wait);
        }
    }

    [Test]
    public async Task Continuation_ThatMakesBlockingCallsOnItsOwnChannel_HasItsAnswers()
    {
        ShmRig rig = await StartShmAsync(new Script(), _options);

        bool[] isRight = await Task.WhenAll(Enumerable.Range(0, 20).Select(NestAsync)).Bounded();

        Assert.That(isRight, Is.All.True);

        async Task<bool> NestAsync(int number)
        {
            await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.ConfigureAwait(false);
            bool isFirstRight = rig.Client.Unary(Payloads.OfSize(number)).IsOfSize(number);
            await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.ConfigureAwait(false);
            return isFirstRight && rig.Client.Unary(Payloads.OfSize(number + 1)).IsOfSize(number + 1);
        }
    }

    [Test]
    public async Task Continuation_ThatWaitsForAnAsynchronousCall_HasItsAnswer()
    {
        ShmRig rig = await StartShmAsync(new Script(), _options);

        await Task.WhenAll(Enumerable.Range(0, 5).Select(SyncOverAsync)).Bounded();

        async Task SyncOverAsync(int number)
        {
            await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.ConfigureAwait(false);
            Task<Payload> inner = rig.Client.UnaryAsync(Payloads.OfSize(number)).ResponseAsync;
            Assert.That(inner.Wait(Timeouts.Wait));
            Assert.That(inner.Result.IsOfSize(number));
        }
    }

    // Inline user code runs without the library's locks, so other threads can use the connection meanwhile.
    [Test]
    public async Task InlineCode_WhileItWaitsForOtherThreadsThatUseItsConnection_IsNoDeadlock()
    {
        ShmRig rig = await StartShmAsync(
            new Script
            {
                ServerStream = (request, responses, context) =>
                {
                    Timeouts.OnThread(() =>
                    {
                        context.WriteResponseHeadersAsync(new Metadata { { "from", "another thread" } }).Wait(
                            Timeouts.Wait);
                        responses.WriteAsync(request).Wait(Timeouts.Wait);
                    }).Wait(Timeouts.Wait);
                    return Task.CompletedTask;
                },
            },
            _options);

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Of("there and back"));
        Metadata headers = await call.ResponseHeadersAsync.ConfigureAwait(false);
        Payload inner = await Timeouts.OnThread(() => rig.Client.Unary(Payloads.Of("inner"))).ConfigureAwait(false);
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.ConfigureAwait(false);
        Task<Payload> other = Timeouts.OnThread(() => rig.Client.Unary(Payloads.Of("other")));

        Assert.That(other.Wait(Timeouts.Wait), "A continuation waits for another thread's call on its own channel.");
        Assert.That(headers.GetValue("from"), Is.EqualTo("another thread"));
        Assert.That(inner.Text(), Is.EqualTo("inner"));
        Assert.That((await call.ResponseStream.ToListAsync()).Single().Text(), Is.EqualTo("there and back"));
    }

    [Test]
    public async Task Method_ThatBlocksWhileItsConnectionEnds_EndsNothingElse()
    {
        ShmRig rig = await StartShmAsync(BlockingScript(), _options);
        ShmChannel doomed = rig.OpenChannel();
        Task<Payload> held = new ScriptClient(doomed.CreateCallInvoker()).UnaryAsync(Payloads.Of(Block)).ResponseAsync;
        await Timeouts.Eventually(() => rig.Served.Count == 1, "the doomed channel has its connection");
        rig.Client.Unary(Payloads.Empty);

        await doomed.DisposeAsync().AsTask().Bounded();
        RpcException failure = await FailureOf(held);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(rig.Client.Unary(Payloads.Of("other")).Text(), Is.EqualTo("other"));
    }

    private Script BlockingScript() => new()
    {
        Unary = (request, _) =>
        {
            if (request.Text() == Block)
            {
                _mayGoOn.Wait(Timeouts.Wait);
            }

            return Task.FromResult(request);
        },
    };
}
