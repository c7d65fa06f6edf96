using System.Collections.Concurrent;
using RpcOverShm.FunctionalTests.Codecs;
using RpcOverShm.FunctionalTests.Scheduling;

namespace RpcOverShm.FunctionalTests.Callbacks;

/// <summary>Calls of a server to the services that its client offers.</summary>
internal sealed class CallbackTests : CallbackFixture
{
    private const int MethodThrew = 301;

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

    [Test]
    public async Task Callback_OverALimitOfTheClient_IsRefusedWithTheClientsOption([Values] bool isRequest)
    {
        const int MessageTooLarge = 202;
        RpcException? failure = null;
        (ShmRig rig, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    failure = await FailureOf(Back(context).UnaryAsync(Payloads.OfSize(isRequest ? 2000 : 10)));
                    return request;
                },
            },
            new Script { Unary = (_, _) => Task.FromResult(Payloads.OfSize(2000)) },
            options =>
            {
                options.MaxReceiveMessageSize = isRequest ? 1000 : null;
                options.MaxSendMessageSize = isRequest ? null : 1000;
            });
        rig.Log.Expect(MethodThrew);

        await To(channel).UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        string option = isRequest ? "MaxReceiveMessageSize" : "MaxSendMessageSize";
        Assert.That(failure!.Status.Detail, Does.Contain($"2003 bytes; {option} of the client allows 1000."));
        Assert.That(
            (await rig.Log.WaitForAsync(MessageTooLarge)).Message,
            Does.EndWith($"that {option} of the client allows."));
    }

    [Test]
    public async Task Services_AddedAfterTheChannel_AreRefused()
    {
        ShmChannelOptions options = null!;
        (_, ShmChannel channel) = await StartAsync(new Script(), new Script(), one => options = one);

        Assert.That(
            () => options.Callbacks.Services.Add(new Script().Build()),
            Throws.InvalidOperationException.With.Message.EqualTo(
                $"A channel to {channel.Target} was created with these options already; callback services are added "
                + "before. For another channel create other options."));
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

    // The thread is the caller's.
    [Test]
    public async Task Callback_ForABlockedCaller_LeavesItsThreadAsItWas([Values] bool isForeground)
    {
        var seen = new ConcurrentQueue<int>();
        (_, ShmChannel channel) = await StartAsync(
            new Script { Unary = async (request, context) => await Back(context).UnaryAsync(request) },
            new Script
            {
                Unary = (request, _) =>
                {
                    seen.Enqueue(Environment.CurrentManagedThreadId);
                    ThreadFacts.Change();
                    Thread.CurrentThread.IsBackground = isForeground;
                    return Task.FromResult(request);
                },
            });

        (int Id, ThreadFacts Before, ThreadFacts After) caller = await Timeouts.OnThread(() =>
        {
            Thread me = Thread.CurrentThread;
            (me.Name, me.Priority, me.IsBackground) = ("caller", ThreadPriority.AboveNormal, !isForeground);
            ThreadFacts before = ThreadFacts.OfThisThread();
            To(channel).Unary(Payloads.Empty);
            ThreadFacts after = ThreadFacts.OfThisThread();
            me.IsBackground = true;
            return (me.ManagedThreadId, before, after);
        }).Bounded();

        Assert.That(seen, Is.EqualTo((int[])[caller.Id]));
        Assert.That(caller.After, Is.EqualTo(caller.Before));
    }

    [Test]
    public async Task Callback_WithDeadlineMetadataAndTrailers_IsAnOrdinaryCall()
    {
        DateTime deadline = DateTime.UtcNow.AddMinutes(5);
        (DateTime Deadline, string? Header, string Peer) seen = default;
        (string? Header, string? Trailer) back = default;
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    var options = new CallOptions(new Metadata { { "key", "there" } }, deadline);
                    using AsyncUnaryCall<Payload> call = Back(context).UnaryAsync(request, options);
                    await call;
                    back = ((await call.ResponseHeadersAsync).GetValue("key"), call.GetTrailers().GetValue("key"));
                    return request;
                },
            },
            new Script
            {
                Unary = async (request, context) =>
                {
                    seen = (context.Deadline, context.RequestHeaders.GetValue("key"), context.Peer);
                    await context.WriteResponseHeadersAsync(new Metadata { { "key", "back" } });
                    context.ResponseTrailers.Add("key", "last");
                    return request;
                },
            });

        await Timeouts.OnThread(() => To(channel).Unary(Payloads.Empty)).Bounded();

        Assert.That(seen.Deadline, Is.EqualTo(deadline).Within(TimeSpan.FromMinutes(1)));
        Assert.That((seen.Header, seen.Peer), Is.EqualTo(("there", $"shm:pid={Environment.ProcessId}")));
        Assert.That(back, Is.EqualTo(("back", "last")));
    }

    [Test]
    public async Task Callback_ThatIsCancelled_EndsItsMethodWithTheToken()
    {
        var isRunning = new TaskCompletionSource();
        var hasEnded = new TaskCompletionSource();
        StatusCode? seen = null;
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    using var cancel = new CancellationTokenSource();
                    AsyncUnaryCall<Payload> back =
                        Back(context).UnaryAsync(request, new CallOptions(cancellationToken: cancel.Token));
                    await isRunning.Task;
                    await cancel.CancelAsync();
                    seen = (await CallFailure.OfAsync(back.ResponseAsync)).StatusCode;
                    await hasEnded.Task;
                    return request;
                },
            },
            new Script
            {
                Unary = async (request, context) =>
                {
                    context.CancellationToken.Register(hasEnded.SetResult);
                    isRunning.SetResult();
                    await hasEnded.Task;
                    return request;
                },
            });

        await Timeouts.OnThread(() => To(channel).Unary(Payloads.Empty)).Bounded();

        Assert.That(seen, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Callback_WithACodec_UsesThatOfTheChannel()
    {
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) => await new ScriptClient(
                    context.GetShmSession().CreateCallInvoker(new XorCodec("xor", 1))).UnaryAsync(request),
            },
            new Script(),
            options => options.Codec = new XorCodec("xor", 1),
            new RigOptions { ServerCodecs = [new XorCodec("xor", 1)] });

        string text = await Timeouts.OnThread(() => To(channel).Unary(Payloads.Of("coded")).Text()).Bounded();

        Assert.That(text, Is.EqualTo("coded"));
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
        Assert.That(failure.Status.Detail, Does.Contain("ShmChannelOptions.Callbacks.Services"));
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
}
