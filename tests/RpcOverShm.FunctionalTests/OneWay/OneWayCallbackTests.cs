using RpcOverShm.FunctionalTests.Callbacks;

namespace RpcOverShm.FunctionalTests.OneWay;

/// <summary>One-way calls of a server to the services that its client offers.</summary>
internal sealed class OneWayCallbackTests : CallbackFixture
{
    private const int MethodThrew = 301;

    // More than the window takes at a time, and while the client's thread is blocked in the call.
    [Test]
    public async Task Callbacks_ForABlockedCaller_AllRun()
    {
        const int Callbacks = 2000;
        int run = 0;
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    var back = new ScriptClient(context.GetShmSession().CreateOneWayInvoker());
                    for (int i = 0; i < Callbacks; i++)
                    {
                        await back.UnaryAsync(request);
                    }

                    return request;
                },
            },
            new Script
            {
                Unary = (request, _) =>
                {
                    Interlocked.Increment(ref run);
                    return Task.FromResult(request);
                },
            });

        await Timeouts.OnThread(() => To(channel).Unary(Payloads.Empty)).Bounded();

        await Timeouts.Eventually(() => Volatile.Read(ref run) == Callbacks);
    }

    [Test]
    public async Task CallbackThatFails_IsReportedToTheServer()
    {
        var failed = new TaskCompletionSource<(string Method, Status Status)>(
            TaskCreationOptions.RunContinuationsAsynchronously);
        (ShmRig rig, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    CallInvoker back = context.GetShmSession().CreateOneWayInvoker(
                        onFailed: (method, status) => failed.SetResult((method.FullName, status)));
                    await new ScriptClient(back).UnaryAsync(request);
                    return request;
                },
            },
            new Script { Unary = (_, _) => throw new InvalidOperationException("The callback fails.") });
        rig.Log.Expect(MethodThrew);

        await To(channel).UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        (string failedMethod, Status failure) = await failed.Task.Bounded();
        Assert.That(failedMethod, Is.EqualTo(Script.UnaryMethod.FullName));
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unknown));
        Assert.That((await rig.Log.WaitForAsync(MethodThrew)).Exception, Is.TypeOf<InvalidOperationException>());
    }

    [Test]
    public async Task Callback_ToAChannelThatOffersNothing_Fails()
    {
        RpcException? failure = null;
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = async (request, context) =>
            {
                var back = new ScriptClient(context.GetShmSession().CreateOneWayInvoker());
                failure = await FailureOf(back.UnaryAsync(request));
                return request;
            },
        });

        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        Assert.That(failure!.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
    }

    [Test]
    public async Task RunningCallback_OfAChannelThatIsDisposed_IsCancelled()
    {
        var begun = new TaskCompletionSource();
        var cancelled = new TaskCompletionSource();
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    await new ScriptClient(context.GetShmSession().CreateOneWayInvoker()).UnaryAsync(request);
                    return request;
                },
            },
            new Script
            {
                Unary = async (request, context) =>
                {
                    context.CancellationToken.Register(cancelled.SetResult);
                    begun.SetResult();
                    await cancelled.Task;
                    return request;
                },
            });
        await To(channel).UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        await begun.Task.Bounded();

        await channel.DisposeAsync();

        await cancelled.Task.Bounded();
    }
}
