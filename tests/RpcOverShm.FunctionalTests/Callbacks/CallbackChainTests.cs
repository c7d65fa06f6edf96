using System.Collections.Concurrent;
using System.Globalization;

namespace RpcOverShm.FunctionalTests.Callbacks;

/// <summary>Calls and callbacks that make each other, and callbacks that need each other.</summary>
internal sealed class CallbackChainTests : CallbackFixture
{
    private const int LimitReached = 109;

    [Test]
    public async Task Callback_ThatCallsTheServer_InAChain_ReturnsThroughIt([Values] bool isBlocking)
    {
        ShmChannel? channel = null;
        Script script = ChainOf(context => Back(context), isBlocking);
        (_, channel) = await StartAsync(script, ChainOf(_ => To(channel!), isBlocking));

        string text = await Timeouts.OnThread(() => To(channel).Unary(Payloads.Of("12")).Text()).Bounded();

        Assert.That(text, Is.EqualTo("0" + new string('+', 12)));
    }

    [Test]
    public async Task Chain_BeyondItsDepth_IsResourceExhausted_AndTheChannelGoesOn([Values] bool isBlocking)
    {
        ShmChannel? channel = null;
        Script script = ChainOf(context => Back(context), isBlocking);
        (ShmRig rig, channel) = await StartAsync(
            script, ChainOf(_ => To(channel!), isBlocking), options => options.Callbacks.Limits.MaxCallbackDepth = 5);
        rig.Log.Expect(LimitReached);

        RpcException failure = await FailureOf(
            Timeouts.OnThread(() => To(channel).Unary(Payloads.Of("1000"))).Bounded());

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(
            failure.Status.Detail,
            Is.EqualTo("More than 5 calls and callbacks are in front of this one (MaxCallbackDepth)."));
        Assert.That(To(channel).Unary(Payloads.Of("0")).Text(), Is.EqualTo("0"));
    }

    [Test]
    public async Task Callback_WhileAnotherOneOfTheSameCallBlocks_IsNotKeptWaiting()
    {
        // The first callback calls the server, which answers when the second callback has run.
        var hasRun = new TaskCompletionSource();
        ShmChannel? channel = null;
        (_, channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    if (request.Text() == "nested")
                    {
                        await hasRun.Task;
                        return request;
                    }

                    AsyncUnaryCall<Payload> first = Back(context).UnaryAsync(Payloads.Of("first"));
                    AsyncUnaryCall<Payload> second = Back(context).UnaryAsync(Payloads.Of("second"));
                    await second;
                    return await first;
                },
            },
            new Script
            {
                Unary = (request, _) =>
                {
                    if (request.Text() == "second")
                    {
                        hasRun.TrySetResult();
                    }

                    return Task.FromResult(
                        request.Text() == "first" ? To(channel!).Unary(Payloads.Of("nested")) : request);
                },
            });

        string text = await Timeouts.OnThread(() => To(channel).Unary(Payloads.Of("go")).Text()).Bounded();

        Assert.That(text, Is.EqualTo("nested"));
    }

    // The message that it waits for cannot come on the thread that it blocks.
    [Test]
    public async Task Callback_ThatBlocksForItsOwnStream_GoesOn()
    {
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    using AsyncClientStreamingCall<Payload, Payload> back = Back(context).ClientStream();
                    for (int i = 0; i < 3; i++)
                    {
                        await Task.Yield();
                        await back.RequestStream.WriteAsync(request);
                    }

                    await back.RequestStream.CompleteAsync();
                    return await back;
                },
            },
            new Script
            {
                ClientStream = (requests, _) =>
                {
                    int count = 0;
                    while (requests.MoveNext(CancellationToken.None).GetAwaiter().GetResult())
                    {
                        count++;
                    }

                    return Task.FromResult(Payloads.Of($"{count}"));
                },
            });

        string text = await Timeouts.OnThread(() => To(channel).Unary(Payloads.Of("x")).Text()).Bounded();

        Assert.That(text, Is.EqualTo("3"));
    }

    [Test]
    public async Task Chain_DuringAStop_GoesOnToItsEnd([Values] bool isBlocking, [Values] bool isLimited)
    {
        ShmChannel? channel = null;
        ShmRig? rig = null;
        Task? stopping = null;
        var callbacks = new Script
        {
            Unary = async (request, _) =>
            {
                stopping ??= rig!.Server.StopAsync();
                await Timeouts.Eventually(() => channel!.State != ConnectivityState.Ready);
                ScriptClient client = To(channel!);
                return isBlocking ? client.Unary(Payloads.Of("0")) : await client.UnaryAsync(Payloads.Of("0"));
            },
        };
        (rig, channel) = await StartAsync(
            ChainOf(context => Back(context), isBlocking),
            callbacks,
            options: new RigOptions { Server = options => options.Limits.MaxConcurrentCalls = isLimited ? 1 : null });

        string text = await Timeouts.OnThread(() => To(channel).Unary(Payloads.Of("1")).Text()).Bounded();

        await stopping!.Bounded();
        Assert.That(text, Is.EqualTo("0+"));
    }

    [Test]
    public async Task Callback_AfterItsCallWasGivenUp_StillRuns()
    {
        using var giveUp = new CancellationTokenSource();
        var mayCallBack = new TaskCompletionSource();
        var answer = new TaskCompletionSource<string>();
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    ScriptClient back = Back(context);
                    await giveUp.CancelAsync();
                    await mayCallBack.Task;

                    // While the client waits for the end of a call that it gave up, it refuses callbacks of the call.
                    await Task.Delay(Timeout.Infinite, context.CancellationToken)
                        .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
                    try
                    {
                        answer.SetResult((await back.UnaryAsync(request)).Text());
                    }
                    catch (RpcException exception)
                    {
                        answer.SetException(exception);
                    }

                    return request;
                },
            },
            new Script());

        RpcException failure = await FailureOf(Timeouts.OnThread(() => To(channel).Unary(
            Payloads.Of("late"), new CallOptions(cancellationToken: giveUp.Token))).Bounded());
        mayCallBack.SetResult();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(await answer.Task.Bounded(), Is.EqualTo("late"));
    }

    [Test]
    public async Task Callbacks_BeyondTheirLimit_WaitForTheirTurn_ButNotForTheirOwnChain()
    {
        ShmChannel? channel = null;
        Script script = ChainOf(context => Back(context), isBlocking: false);
        (_, channel) = await StartAsync(
            script,
            ChainOf(_ => To(channel!), isBlocking: false),
            options => options.Callbacks.Limits.MaxConcurrentCallsPerConnection = 1,
            new RigOptions { Server = options => options.Limits.MaxConcurrentCallsPerConnection = 1 });

        Payload[] answers = await Task.WhenAll(
            Enumerable.Range(0, 8).Select(_ => To(channel).UnaryAsync(Payloads.Of("6")).ResponseAsync)).Bounded();

        Assert.That(answers.Select(answer => answer.Text()), Is.All.EqualTo("0++++++"));
    }

    // A client that answers one callback with calls without end. If isDeep, each makes one by a callback, and ends.
    [Test]
    public async Task ManyCalls_InTheNameOfOneCallback_PassOneAtATime([Values] bool isOfServer, [Values] bool isDeep)
    {
        const int Calls = 20;
        int running = 0;
        var mayEnd = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        ShmChannel? channel = null;
        var deeper = new ConcurrentBag<Task>();
        (ShmRig rig, channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    switch (request.Text())
                    {
                        case "outer":
                            return await Back(context).UnaryAsync(Payloads.Of(isDeep ? "middle" : "inner"));
                        case "middle":
                            deeper.Add(Back(context).UnaryAsync(Payloads.Of("last")).ResponseAsync);
                            await Timeouts.Eventually(() => Volatile.Read(ref running) > 0, "the inner call passes");
                            return request;
                        default:
                            Interlocked.Increment(ref running);
                            await mayEnd.Task;
                            return request;
                    }
                },
            },
            new Script
            {
                Unary = async (request, _) =>
                {
                    int count = request.Text() == "last" ? 1 : Calls;
                    Payload next = Payloads.Of(request.Text() == "middle" ? "middle" : "inner");
                    await Task.WhenAll(
                        Enumerable.Range(0, count).Select(_ => To(channel!).UnaryAsync(next).ResponseAsync));
                    return request;
                },
            },
            options: new RigOptions
            {
                Server = options =>
                {
                    options.Limits.MaxConcurrentCallsPerConnection = isOfServer ? 100 : 1;
                    options.Limits.MaxConcurrentCalls = isOfServer ? 1 : null;
                },
            });

        Task<Payload> outer = To(channel).UnaryAsync(Payloads.Of("outer")).ResponseAsync;
        await Timeouts.Eventually(
            () => running > 0 && rig.Served.Sum(one => one.PendingOrRunning) == 1 + Calls, "one has passed alone");
        await Timeouts.Eventually(() => rig.Served.Sum(served => served.Queued) == Calls - 1, "all others wait");
        int before = Volatile.Read(ref running);
        mayEnd.SetResult();
        await outer.Bounded();
        await Task.WhenAll(deeper).Bounded();

        Assert.That(before, Is.EqualTo(1));
        Assert.That(running, Is.EqualTo(Calls));
    }

    // Each method calls the other side with a number less, and adds a character to the answer.
    private static Script ChainOf(Func<ServerCallContext, ScriptClient> next, bool isBlocking) => new()
    {
        Unary = async (request, context) =>
        {
            int left = int.Parse(request.Text(), CultureInfo.InvariantCulture);
            if (left == 0)
            {
                return request;
            }

            Payload rest = Payloads.Of((left - 1).ToString(CultureInfo.InvariantCulture));
            Payload answer = isBlocking ? next(context).Unary(rest) : await next(context).UnaryAsync(rest);
            return Payloads.Of(answer.Text() + "+");
        },
    };
}
