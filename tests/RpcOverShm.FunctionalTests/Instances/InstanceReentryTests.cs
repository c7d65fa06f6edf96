using System.Globalization;

namespace RpcOverShm.FunctionalTests.Instances;

/// <summary>A method that waits for a callback lets other calls run on its instance, and then goes on alone.</summary>
internal sealed class InstanceReentryTests : InstanceFixture
{
    private static ShmServiceOptions One => new()
    {
        Lifetime = ShmServiceLifetime.Singleton,
        MaxConcurrentCallsPerInstance = 1,
        MaxQueuedCallsPerInstance = 100,
    };

    private static CallOptions LateCredentials => new(credentials: CallCredentials.FromInterceptor(
        async (_, metadata) =>
        {
            await Task.Yield();
            metadata.Add("token", "late");
        }));

    [Test]
    public async Task Chain_ThatComesBackToTheInstance_ReturnsThroughIt(
        [Values] bool isBlocking, [Values] bool isOrdered)
    {
        ShmChannel? channel = null;
        ShmServiceOptions options = One;
        options.EnableOrderedDispatch = isOrdered;
        ShmRig rig = await StartAsync(ProbeOf(async (number, context) => isBlocking
            ? Back(context).Unary(number)
            : await Back(context).UnaryAsync(number)), options);
        channel = OpenServing(rig, async number => isBlocking
            ? To(channel!).Echo(number)
            : await To(channel!).EchoAsync(number));

        string text = await Timeouts.OnThread(() => To(channel).Echo(Payloads.Of("6")).Text()).Bounded();

        Assert.That(text, Is.EqualTo("0++++++"));
    }

    [Test]
    public async Task OtherCalls_RunWhileAMethodWaitsForACallback([Values] bool isBlocking)
    {
        // The callback ends when another client's call has run on the instance.
        var entered = new TaskCompletionSource();
        var hasRun = new TaskCompletionSource();
        ShmRig rig = await StartAsync(
            new Probe
            {
                Run = async (_, request, context) =>
                {
                    if (request.Text() == "other")
                    {
                        return request;
                    }

                    return isBlocking ? Back(context).Unary(request) : await Back(context).UnaryAsync(request);
                },
            },
            One);
        ShmChannel channel = OpenServing(rig, async request =>
        {
            entered.SetResult();
            await hasRun.Task;
            return request;
        });

        Task<string> call = Timeouts.OnThread(() => To(channel).Echo(Payloads.Of("call")).Text());
        await entered.Task.Bounded();
        Payload other = await To(rig.Channel).EchoAsync(Payloads.Of("other")).ResponseAsync.Bounded();
        Assert.That(other.Text(), Is.EqualTo("other"));
        hasRun.SetResult();

        Assert.That(await call.Bounded(), Is.EqualTo("call"));
    }

    [Test]
    public async Task Callbacks_OfEachShape_LetOtherCallsRun_AndTheirMethodsGoOnAlone()
    {
        const int Clients = 4;
        const int Threads = 4;
        const int Calls = 15;
        var probe = new Probe();
        probe.Run = async (_, request, context) =>
        {
            probe.Enter();
            await Task.Yield();
            probe.Leave();
            await CallBackAsync(Back(context), request);
            probe.Enter();
            await Task.Yield();
            probe.Leave();
            return request;
        };
        ShmRig rig = await StartAsync(probe, One);

        await Task.WhenAll(Enumerable.Range(0, Clients).SelectMany(_ =>
        {
            ShmChannel channel = rig.OpenChannel(options => options.Callbacks.Services.Add(new Script().Build()));
            return Enumerable.Range(0, Threads).Select(_ => Timeouts.OnThread(() =>
            {
                for (int i = 0; i < Calls; i++)
                {
                    Assert.That(To(channel).Echo(Payloads.Of($"{i}")).Text(), Is.EqualTo($"{i}"));
                }
            }));
        })).Bounded();

        Assert.That(probe.MostInside, Is.EqualTo(1));
    }

    [Test]
    public async Task NestedCall_ThroughAChannelOfTheMethod_TakesItsPlace([Values] bool isBlocking)
    {
        ShmRig? rig = null;
        rig = await StartAsync(ProbeOf(async (number, _) => isBlocking
            ? To(rig!.Channel).Echo(number)
            : await To(rig!.Channel).EchoAsync(number)), One);

        string text = await Timeouts.OnThread(() => To(rig.Channel).Echo(Payloads.Of("4")).Text()).Bounded();

        Assert.That(text, Is.EqualTo("0++++"));
    }

    [Test]
    public async Task BlockingCallback_HasItsCredentials()
    {
        ShmRig rig = await StartAsync(
            new Probe { Run = (_, request, context) => Task.FromResult(Back(context).Unary(request, LateCredentials)) },
            One);
        ShmChannel channel = rig.OpenChannel(options => options.Callbacks.Services.Add(new Script
        {
            Unary = (_, context) => Task.FromResult(Payloads.Of(context.RequestHeaders.GetValue("token")!)),
        }.Build()));

        string token = await Timeouts.OnThread(() => To(channel).Echo(Payloads.Empty).Text()).Bounded();

        Assert.That(token, Is.EqualTo("late"));
    }

    [Test]
    public async Task Callback_ThatFails_IsSeenByTheMethod_WhichGoesOn()
    {
        ShmRig rig = await StartAsync(
            new Probe
            {
                Run = async (_, request, context) =>
                {
                    RpcException failure = await FailureOf(Back(context).UnaryAsync(request));
                    return Payloads.Of($"{failure.StatusCode}");
                },
            },
            One);

        Assert.That(To(rig.Channel).Echo(Payloads.Empty).Text(), Is.EqualTo("Unimplemented"), "offers no services");
        Assert.That(To(rig.Channel).Echo(Payloads.Empty).Text(), Is.EqualTo("Unimplemented"));
    }

    private static async Task CallBackAsync(ScriptClient back, Payload request)
    {
        int shape = int.Parse(request.Text(), CultureInfo.InvariantCulture) % 7;
        switch (shape)
        {
            case 0:
                back.Unary(request);
                break;
            case 1:
                await back.UnaryAsync(request);
                break;
            case 2:
                using (AsyncServerStreamingCall<Payload> call = back.ServerStream(request))
                {
                    Assert.That(await call.ResponseStream.MoveNext(), Is.True);
                    Assert.That(await call.ResponseStream.MoveNext(), Is.False);
                }

                break;
            case 3 or 4:
                CallOptions options = shape == 3 ? default : LateCredentials;
                using (AsyncClientStreamingCall<Payload, Payload> call = back.ClientStream(options))
                {
                    await call.RequestStream.WriteAsync(request);
                    await call.RequestStream.CompleteAsync();
                    Assert.That((await call).Text(), Is.EqualTo(request.Text()));
                }

                break;
            case 5:
                back.Unary(request, LateCredentials);
                break;
            default:
                using (AsyncDuplexStreamingCall<Payload, Payload> call = back.Duplex())
                {
                    await call.RequestStream.WriteAsync(request);
                    Assert.That(await call.ResponseStream.MoveNext(), Is.True);
                    await call.RequestStream.CompleteAsync();
                    Assert.That(await call.ResponseStream.MoveNext(), Is.False);
                }

                break;
        }
    }

    private static ShmChannel OpenServing(ShmRig rig, Func<Payload, Task<Payload>> run) => rig.OpenChannel(
        options => options.Callbacks.Services.Add(new Script { Unary = (request, _) => run(request) }.Build()));

    // Counts down on the way there, and appends a sign on the way back.
    private static Probe ProbeOf(Func<Payload, ServerCallContext, Task<Payload>> next) => new()
    {
        Run = async (_, request, context) =>
        {
            int number = int.Parse(request.Text(), CultureInfo.InvariantCulture);
            return number == 0
                ? request
                : Payloads.Of((await next(Payloads.Of($"{number - 1}"), context)).Text() + "+");
        },
    };
}
