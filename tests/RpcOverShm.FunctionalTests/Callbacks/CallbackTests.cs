using System.Globalization;

namespace RpcOverShm.FunctionalTests.Callbacks;

/// <summary>Calls of a server to the services that its client offers.</summary>
[TestFixture(ShmSchedulingMode.Adaptive)]
[TestFixture(ShmSchedulingMode.Inline)]
[TestFixture(ShmSchedulingMode.ThreadPool)]
internal sealed class CallbackTests(ShmSchedulingMode mode) : CallbackFixture(mode)
{
    private const int MethodThrew = 301;
    private const int LimitReached = 109;

    [TestCase(1000)]
    [TestCase(1_000_000)]
    public async Task Callbacks_OfEveryShape_BothWaysAtOnce_AreAnsweredRight(int bytes)
    {
        string wrong = "not run";
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    if (request.Text() == "go")
                    {
                        wrong = await Shapes.RunAllAsync(Back(context), bytes);
                    }

                    return request;
                },
            },
            new Script());

        Task going = To(channel).UnaryAsync(Payloads.Of("go")).ResponseAsync;
        Assert.That(await Shapes.RunAllAsync(To(channel), bytes).Bounded(), Is.Empty);
        await going.Bounded();

        Assert.That(wrong, Is.Empty);
    }

    [TestCase(true)]
    [TestCase(false)]
    public async Task Callback_ForABlockedCaller_RunsOnItsThread(bool isHandlerBlocking)
    {
        int thread = 0;
        var script = new Script
        {
            Unary = async (request, context) => isHandlerBlocking
                ? Back(context).Unary(request)
                : await Back(context).UnaryAsync(request),
        };
        (_, ShmChannel channel) = await StartAsync(script, new Script
        {
            Unary = (request, _) =>
            {
                thread = Environment.CurrentManagedThreadId;
                return Task.FromResult(Payloads.Of(request.Text() + "!"));
            },
        });

        for (int i = 0; i < 20; i++)
        {
            (int caller, string text) = await Timeouts.OnThread(() =>
                (Environment.CurrentManagedThreadId, To(channel).Unary(Payloads.Of("hello")).Text())).Bounded();

            Assert.That(text, Is.EqualTo("hello!"));
            Assert.That(thread, Is.EqualTo(caller));
        }
    }

    [Test]
    public async Task Callbacks_ForABlockedCaller_OfEveryShape_AreAnsweredRight()
    {
        string wrong = "not run";
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    wrong = await Shapes.RunAllAsync(Back(context));
                    return request;
                },
            },
            new Script());

        await Timeouts.OnThread(() => To(channel).Unary(Payloads.Empty)).Bounded();

        Assert.That(wrong, Is.Empty);
    }

    [Test]
    public async Task Callback_ForABlockedCaller_SeesNothingOfItsContext_AndLeavesNothing()
    {
        var local = new AsyncLocal<string?>();
        (string? Local, SynchronizationContext? Context) seen = ("unset", null);
        (_, ShmChannel channel) = await StartAsync(
            new Script { Unary = async (request, context) => await Back(context).UnaryAsync(request) },
            new Script
            {
                Unary = (request, _) =>
                {
                    seen = (local.Value, SynchronizationContext.Current);
                    local.Value = "of the callback";
                    return Task.FromResult(request);
                },
            });

        (string? after, bool hasContext) = await Timeouts.OnThread(() =>
        {
            var own = new SynchronizationContext();
            SynchronizationContext.SetSynchronizationContext(own);
            local.Value = "of the caller";
            To(channel).Unary(Payloads.Empty);
            bool isOwn = SynchronizationContext.Current == own;
            SynchronizationContext.SetSynchronizationContext(null);
            return (local.Value, isOwn);
        }).Bounded();

        Assert.That(seen, Is.EqualTo(((string?)null, (SynchronizationContext?)null)));
        Assert.That((after, hasContext), Is.EqualTo(("of the caller", true)));
    }

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
            script, ChainOf(_ => To(channel!), isBlocking), options => options.MaxCallbackDepth = 5);
        rig.Log.Expect(LimitReached);

        RpcException failure = await FailureOf(
            Timeouts.OnThread(() => To(channel).Unary(Payloads.Of("1000"))).Bounded());

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(
            failure.Status.Detail, Is.EqualTo("A chain of calls and callbacks has at most 5 calls (MaxCallbackDepth)."));
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

    [Test]
    public async Task Callback_ThatThrows_FailsAlone()
    {
        StatusCode? seen = null;
        (ShmRig rig, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    seen = (await CallFailure.OfAsync(Back(context).UnaryAsync(request).ResponseAsync)).StatusCode;
                    return request;
                },
            },
            new Script { Unary = (_, _) => throw new InvalidOperationException("no") });
        rig.Log.Expect(MethodThrew);

        string text = await Timeouts.OnThread(() => To(channel).Unary(Payloads.Of("well")).Text()).Bounded();

        Assert.That((text, seen), Is.EqualTo(("well", StatusCode.Unknown)));
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
                    answer.SetResult((await back.UnaryAsync(request)).Text());
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
    public async Task Callback_ThatOutlivesItsCall_IsAnswered()
    {
        var mayAnswer = new TaskCompletionSource();
        Task<Payload>? callback = null;
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = (request, context) =>
                {
                    callback = Back(context).UnaryAsync(Payloads.Of("slow")).ResponseAsync;
                    return Task.FromResult(request);
                },
            },
            new Script
            {
                Unary = async (request, _) =>
                {
                    await mayAnswer.Task;
                    return request;
                },
            });

        for (int i = 0; i < 10; i++)
        {
            await Timeouts.OnThread(() => To(channel).Unary(Payloads.Empty)).Bounded();
        }

        mayAnswer.SetResult();

        Assert.That((await callback!.Bounded()).Text(), Is.EqualTo("slow"));
    }

    [Test]
    public async Task Callback_ToAClientThatOffersNone_IsUnimplemented()
    {
        ShmRig rig = await StartShmAsync(
            new Script { Unary = async (request, context) => await Back(context).UnaryAsync(request) });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
        Assert.That(failure.Status.Detail, Does.Contain(nameof(ShmChannelOptions.CallbackServices)));
    }

    [Test]
    public async Task Callback_OfAnUnknownMethod_IsUnimplemented()
    {
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) => await context.GetShmSession().CreateCallInvoker().AsyncUnaryCall(
                    Script.Define(MethodType.Unary, "No"), null, default, request),
            },
            new Script());

        RpcException failure = await FailureOf(To(channel).UnaryAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
    }

    [Test]
    public async Task Callback_AfterTheEndOfItsSession_IsUnavailable_AndARunningOneToo()
    {
        ScriptClient? back = null;
        var isRunning = new TaskCompletionSource();
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = (request, context) =>
                {
                    back = Back(context);
                    return Task.FromResult(request);
                },
            },
            new Script
            {
                Unary = async (request, context) =>
                {
                    isRunning.SetResult();
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                    return request;
                },
            });
        To(channel).Unary(Payloads.Empty);
        AsyncUnaryCall<Payload> running = back!.UnaryAsync(Payloads.Empty);
        await isRunning.Task.Bounded();

        await channel.ShutdownAsync().Bounded();

        Assert.That((await FailureOf(running)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That((await FailureOf(back.UnaryAsync(Payloads.Empty))).StatusCode, Is.EqualTo(StatusCode.Unavailable));
    }

    [Test]
    public async Task Callbacks_BeyondTheirLimit_WaitForTheirTurn_ButNotForTheirOwnChain()
    {
        ShmChannel? channel = null;
        Script script = ChainOf(context => Back(context), isBlocking: false);
        (_, channel) = await StartAsync(
            script,
            ChainOf(_ => To(channel!), isBlocking: false),
            options => options.Callbacks.MaxConcurrentCallsPerConnection = 1,
            new RigOptions { Server = options => options.MaxConcurrentCallsPerConnection = 1 });

        Payload[] answers = await Task.WhenAll(
            Enumerable.Range(0, 8).Select(_ => To(channel).UnaryAsync(Payloads.Of("6")).ResponseAsync)).Bounded();

        Assert.That(answers.Select(answer => answer.Text()), Is.All.EqualTo("0++++++"));
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
