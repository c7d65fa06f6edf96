namespace RpcOverShm.FunctionalTests.Limits;

/// <summary>
/// Calls that a method makes to its own server: at a limit they borrow the place of the method's call, one at a time,
/// and do not wait behind calls that wait for a place.
/// </summary>
internal sealed class NestedCallTests() : RigFixture(RigKind.Shm)
{
    private const int LimitReached = 109;

    private readonly Lock _lock = new();
    private ShmRig? _rig;
    private int _running;
    private int _mostRunning;

    [Test]
    public async Task TwoLevels_AtALimitOfOneWithOthersWaiting_AllRun(
        [Values] bool isOfServer, [Values] bool isBlocking)
    {
        ShmRig rig = await StartAsync(isOfServer, async request =>
        {
            if (request == "2" || request == "other")
            {
                return;
            }

            if (request == "0")
            {
                await Timeouts.Eventually(() => _rig!.Served.Sum(served => served.Queued) == 5, "others wait");
            }

            await CallAsync(request == "0" ? "1" : "2", isBlocking);
        });
        Task outer = CallAsync("0");
        await Timeouts.Eventually(() => Volatile.Read(ref _running) == 1);

        Task[] others = [.. Enumerable.Range(0, 5).Select(_ => CallAsync("other"))];
        await Task.WhenAll([outer, .. others]).Bounded();

        Assert.That(_mostRunning, Is.EqualTo(3), "Three nested calls run; all others wait.");
        await AssertFreeAsync(rig);
    }

    // A stream of requests is not sent again by itself, unlike a call with one request.
    [Test]
    public async Task Call_OfAMethodWhoseServerStops_GoesToTheNextServer()
    {
        var hasBegun = new TaskCompletionSource();
        var mayCall = new TaskCompletionSource();
        ShmRig? rig = null;
        rig = await StartShmAsync(new Script
        {
            Unary = async (_, _) =>
            {
                hasBegun.SetResult();
                await mayCall.Task;
                using AsyncClientStreamingCall<Payload, Payload> nested = rig!.Client.ClientStream();
                await nested.RequestStream.CompleteAsync();
                return await nested;
            },
        });
        ShmServer first = rig.Server;
        Task<Payload> outer = rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync;
        await hasBegun.Task.Bounded();

        Task stopping = first.StopAsync();
        await Timeouts.Eventually(() => rig.FileNames.Length == 0, "The address is free.");
        var next = new Script { ClientStream = (_, _) => Task.FromResult(Payloads.Of("of the next")) };
        await rig.StartServerAsync(next.Build());
        await Timeouts.Eventually(() => rig.ShmChannel.State != ConnectivityState.Ready);
        mayCall.SetResult();

        Assert.That((await outer.Bounded()).Text(), Is.EqualTo("of the next"));
        await stopping.Bounded();
    }

    [Test]
    public async Task SeveralAtOnce_TakeTheirCallersPlaceOneAtATime([Values] bool isOfServer)
    {
        ShmRig rig = await StartAsync(isOfServer, async request =>
        {
            await Task.Yield();
            if (request == "outer")
            {
                await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => CallAsync("inner")));
            }
        });

        await CallAsync("outer").Bounded();

        Assert.That(_mostRunning, Is.EqualTo(2));
        await AssertFreeAsync(rig);
    }

    [Test]
    public async Task NestedCallThatOutlivesItsCaller_KeepsThePlace([Values] bool isOfServer)
    {
        var mayGoOn = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Task? inner = null;
        ShmRig rig = await StartAsync(isOfServer, async request =>
        {
            if (request == "outer")
            {
                inner = CallAsync("inner");
                await Timeouts.Eventually(() => Volatile.Read(ref _running) == 2);
            }
            else if (request == "inner")
            {
                await mayGoOn.Task;
            }
        });
        await CallAsync("outer").Bounded();
        Task next = CallAsync("next");
        await Timeouts.Eventually(() => rig.Served.Sum(served => served.Queued) == 1, "the next call waits");

        mayGoOn.SetResult();
        await Task.WhenAll(inner!, next).Bounded();

        Assert.That(_mostRunning, Is.EqualTo(2));
        await AssertFreeAsync(rig);
    }

    // The place passes from the outer call to "inner" and from that to "innermost", which outlives it.
    [Test]
    public async Task NestedCallOfANestedCall_ThatOutlivesItsCaller_KeepsTheOutermostPlace([Values] bool isOfServer)
    {
        var mayGoOn = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Task? innermost = null;
        Task? second = null;
        ShmRig rig = await StartAsync(isOfServer, async request =>
        {
            switch (request)
            {
                case "outer":
                    await CallAsync("inner");
                    second = CallAsync("second");
                    await Timeouts.Eventually(() => _rig!.Served.Sum(served => served.Queued) == 1, "it waits");
                    mayGoOn.SetResult();
                    await second;
                    break;
                case "inner":
                    innermost = CallAsync("innermost");
                    await Timeouts.Eventually(() => Volatile.Read(ref _running) == 3);
                    break;
                case "innermost":
                    await mayGoOn.Task;
                    break;
            }
        });

        await CallAsync("outer").Bounded();
        await innermost!.Bounded();

        Assert.That(_mostRunning, Is.EqualTo(3));
        await AssertFreeAsync(rig);
    }

    // The parents began while no limit was near, and all places are taken for as long as they run.
    [Test]
    public async Task CallsThatBeganLongBeforeTheLimit_LendTheirPlacesToo([Values] bool isOfServer)
    {
        const int Parents = 4;
        const int Limit = 10;
        var mayNest = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var mayEnd = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        ShmRig rig = await StartAsync(
            isOfServer,
            async request =>
            {
                if (request == "parent")
                {
                    await mayNest.Task;
                    await CallAsync("inner");
                }
                else if (request == "long")
                {
                    await mayEnd.Task;
                }
            },
            Limit);
        Task[] parents = [.. Enumerable.Range(0, Parents).Select(_ => CallAsync("parent"))];
        Task[] others = [.. Enumerable.Range(0, Limit - Parents).Select(_ => CallAsync("long"))];
        await Timeouts.Eventually(() => Volatile.Read(ref _running) == Limit);

        mayNest.SetResult();
        await Task.WhenAll(parents).Bounded();
        mayEnd.SetResult();
        await Task.WhenAll(others).Bounded();

        await AssertFreeAsync(rig);
    }

    [Test]
    public async Task Calls_BeyondTheDepthOfChains_AreRefused()
    {
        ShmRig? rig = null;
        rig = await StartShmAsync(
            new Script
            {
                Unary = async (request, _) => request.Text() == "0"
                    ? request
                    : await rig!.Client.UnaryAsync(Payloads.Of($"{int.Parse(request.Text(), null) - 1}")),
            },
            new RigOptions { Server = options => options.Limits.MaxCallbackDepth = 3 });
        rig.Log.Expect(LimitReached);

        Payload within = await rig.Client.UnaryAsync(Payloads.Of("3")).ResponseAsync.Bounded();
        RpcException beyond = await FailureOf(rig.Client.UnaryAsync(Payloads.Of("4")));

        Assert.That(within.Text(), Is.EqualTo("0"));
        Assert.That(beyond.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(beyond.Status.Detail, Does.Contain("(MaxCallbackDepth)"));
    }

    // Each waits for a place that the other one has, so a name of another connection must do.
    [Test]
    public async Task TwoMethods_WhoseNestedCallsUseEachOthersConnection_End()
    {
        int begun = 0;
        var bothBegun = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        ShmRig? rig = null;
        ScriptClient? other = null;
        var script = new Script
        {
            Unary = async (request, _) =>
            {
                if (request.Text() == "nested")
                {
                    return request;
                }

                if (Interlocked.Increment(ref begun) == 2)
                {
                    bothBegun.SetResult();
                }

                await bothBegun.Task;
                return await (request.Text() == "first" ? other! : rig!.Client).UnaryAsync(Payloads.Of("nested"));
            },
        };
        rig = await StartShmAsync(
            script, new RigOptions { Server = options => options.Limits.MaxConcurrentCallsPerConnection = 1 });
        other = new ScriptClient(rig.OpenChannel().CreateCallInvoker());

        Task first = rig.Client.UnaryAsync(Payloads.Of("first")).ResponseAsync;
        Task second = other.UnaryAsync(Payloads.Of("second")).ResponseAsync;

        await Task.WhenAll(first, second).Bounded();
    }

    private static async Task AssertFreeAsync(ShmRig rig)
    {
        await Timeouts.Eventually(() => rig.Served.Sum(served => served.PendingOrRunning) == 0);
        Assert.That(rig.Served.Sum(served => served.Queued), Is.Zero);
        Assert.That(rig.Server.Running!.BufferBudget.UsedBytes, Is.Zero);
        Payload answer = await rig.Client.UnaryAsync(Payloads.Of("other")).ResponseAsync.Bounded();
        Assert.That(answer.Text(), Is.EqualTo("other"));
    }

    private async Task CallAsync(string text, bool isBlocking = false)
    {
        if (isBlocking)
        {
            _rig!.Client.Unary(Payloads.Of(text));
        }
        else
        {
            await _rig!.Client.UnaryAsync(Payloads.Of(text));
        }
    }

    private async Task<ShmRig> StartAsync(bool isOfServer, Func<string, Task> run, int limit = 1)
    {
        _running = 0;
        _mostRunning = 0;
        var script = new Script
        {
            Unary = async (request, _) =>
            {
                int running = Interlocked.Increment(ref _running);
                lock (_lock)
                {
                    _mostRunning = Math.Max(_mostRunning, running);
                }

                try
                {
                    await run(request.Text());
                    return request;
                }
                finally
                {
                    Interlocked.Decrement(ref _running);
                }
            },
        };
        _rig = await StartShmAsync(script, new RigOptions
        {
            Server = options =>
            {
                options.Limits.MaxConcurrentCallsPerConnection = isOfServer ? 100 : limit;
                options.Limits.MaxConcurrentCalls = isOfServer ? limit : null;
            },
        });
        return _rig;
    }
}
