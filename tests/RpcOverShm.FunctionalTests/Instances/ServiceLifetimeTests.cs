namespace RpcOverShm.FunctionalTests.Instances;

/// <summary>Instances are created when they are needed, once, and each is released once.</summary>
internal sealed class ServiceLifetimeTests : InstanceFixture
{
    [Test]
    public async Task PerCall_EachCallOfEachShape_HasItsOwnInstance_ReleasedBeforeTheResponse()
    {
        var probe = new Probe();
        ShmRig rig = await StartAsync(probe, options: null);

        Assert.That(To(rig.Channel).Echo(Payloads.Of("x")).Text(), Is.EqualTo("1"));
        Assert.That(probe.Disposed, Is.EqualTo(1));
        using AsyncClientStreamingCall<Number, Number> sum = To(rig.Channel).Sum();
        await sum.RequestStream.WriteAsync(new Number { Value = 7 });
        await sum.RequestStream.CompleteAsync();
        Assert.That((await sum.ResponseAsync.Bounded()).Value, Is.EqualTo(7));
        Assert.That(probe.Disposed, Is.EqualTo(2));
        using AsyncServerStreamingCall<Number> count = To(rig.Channel).Count(new CountRequest());
        Assert.That(await count.ResponseStream.MoveNext().Bounded(), Is.True);
        Assert.That(count.ResponseStream.Current.Value, Is.EqualTo(3));
        Assert.That(await count.ResponseStream.MoveNext().Bounded(), Is.False);
        Assert.That(probe.Disposed, Is.EqualTo(3));
        using AsyncDuplexStreamingCall<Payload, Payload> echo = To(rig.Channel).EchoAll();
        for (int i = 0; i < 2; i++)
        {
            await echo.RequestStream.WriteAsync(Payloads.Of("x"));
            Assert.That(await echo.ResponseStream.MoveNext().Bounded(), Is.True);
            Assert.That(echo.ResponseStream.Current.Text(), Is.EqualTo("4"));
        }

        await echo.RequestStream.CompleteAsync();
        Assert.That(await echo.ResponseStream.MoveNext().Bounded(), Is.False);
        Assert.That((probe.Created, probe.Disposed), Is.EqualTo((4, 4)));
    }

    [Test]
    public async Task PerCall_AMethodThatThrows_ReleasesItsInstance()
    {
        var probe = new Probe { Run = (_, _, _) => throw new RpcException(new Status(StatusCode.NotFound, "gone")) };
        ShmRig rig = await StartAsync(probe, options: null);

        RpcException failure = await FailureOf(To(rig.Channel).EchoAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.NotFound));
        Assert.That((probe.Created, probe.Disposed), Is.EqualTo((1, 1)));
    }

    [Test]
    public async Task PerSession_ConcurrentFirstCalls_ShareOneInstance()
    {
        var probe = new Probe();
        ShmRig rig = await StartAsync(probe, PerSession);
        ShmChannel channel = rig.OpenChannel();
        await channel.ConnectAsync().Bounded();
        using var start = new Barrier(8);

        string[] texts = await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => Timeouts.OnThread(() =>
        {
            start.SignalAndWait();
            return string.Join("", Enumerable.Range(0, 50).Select(_ => To(channel).Echo(Payloads.Empty).Text()));
        }))).Bounded();

        Assert.That(texts, Is.All.EqualTo(new string('1', 50)));
        Assert.That(To(rig.Channel).Echo(Payloads.Empty).Text(), Is.EqualTo("2"), "another session");
        await channel.ShutdownAsync().Bounded();
        await Timeouts.Eventually(() => probe.Disposed == 1);
        Assert.That(To(rig.Channel).Echo(Payloads.Empty).Text(), Is.EqualTo("2"));
        await rig.ShutDownServerAsync().Bounded();
        Assert.That((probe.Created, probe.Disposed), Is.EqualTo((2, 2)));
    }

    [Test]
    public async Task PerSession_AMethodThatRunsOnAfterTheSession_KeepsItsInstance()
    {
        var begun = new TaskCompletionSource();
        var held = new TaskCompletionSource();
        var probe = new Probe
        {
            Run = async (_, request, _) =>
            {
                begun.SetResult();
                await held.Task;
                return request;
            },
        };
        ShmRig rig = await StartAsync(probe, PerSession);
        var ended = new TaskCompletionSource();
        rig.Server.SessionEnded += (_, _) => ended.TrySetResult();
        Task<RpcException> failure = FailureOf(To(rig.Channel).EchoAsync(Payloads.Empty));
        await begun.Task.Bounded();

        await rig.ShutDownChannelAsync().Bounded();
        await failure.Bounded();
        await ended.Task.Bounded();
        Assert.That(probe.Disposed, Is.Zero);
        held.SetResult();

        await Timeouts.Eventually(() => probe.Disposed == 1);
        Assert.That(probe.Created, Is.EqualTo(1));
    }

    [Test]
    public async Task PerSession_ManySessions_LeaveNoInstance()
    {
        const int Sessions = 100;
        var probe = new Probe();
        ShmRig rig = await StartAsync(probe, PerSession);
        for (int i = 0; i < Sessions; i++)
        {
            ShmChannel channel = rig.OpenChannel();
            Assert.That(To(channel).Echo(Payloads.Empty).Text(), Is.EqualTo($"{i + 1}"));
            await channel.ShutdownAsync().Bounded();
        }

        await Timeouts.Eventually(() => probe.Disposed == Sessions);
        Assert.That(probe.Created, Is.EqualTo(Sessions));
    }

    [Test]
    public async Task Singleton_IsCreatedAtTheFirstCall_AndReleasedWhenTheServerHasStopped()
    {
        var probe = new Probe();
        ShmRig rig = await StartAsync(probe, new ShmServiceOptions { Lifetime = ShmServiceLifetime.Singleton });
        Assert.That(probe.Created, Is.Zero);

        Assert.That(To(rig.Channel).Echo(Payloads.Empty).Text(), Is.EqualTo("1"));
        ShmChannel other = rig.OpenChannel();
        Assert.That(To(other).Echo(Payloads.Empty).Text(), Is.EqualTo("1"));
        await other.ShutdownAsync().Bounded();
        Assert.That(probe.Disposed, Is.Zero);
        await rig.ShutDownServerAsync().Bounded();

        Assert.That((probe.Created, probe.Disposed), Is.EqualTo((1, 1)));
    }

    [Test]
    public async Task Activator_KnowsSessionAndCall_AsTheLifetimeSays([Values] ShmServiceLifetime lifetime)
    {
        var seen = new TaskCompletionSource<ShmActivationContext>();
        ShmRig rig = await StartAsync(services => services.Add(
            context =>
            {
                seen.SetResult(context);
                return new ProbeService(new Probe());
            },
            new ShmServiceOptions { Lifetime = lifetime }));

        To(rig.Channel).Echo(Payloads.Empty);

        ShmActivationContext context = await seen.Task.Bounded();
        Assert.That(context.Session is not null, Is.EqualTo(lifetime != ShmServiceLifetime.Singleton));
        Assert.That(context.CallContext is not null, Is.EqualTo(lifetime == ShmServiceLifetime.PerCall));
    }

    [Test]
    public async Task Callbacks_OfAChannel_HaveInstancesPerCallAndSingletons([Values] bool isSingleton)
    {
        var probe = new Probe();
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = async (request, context) =>
            {
                var back = new ConformanceContract.ConformanceClient(context.GetShmSession().CreateCallInvoker());
                return await back.EchoAsync(request);
            },
        });
        ShmChannel channel = rig.OpenChannel(options => options.Callbacks.Services.Add(
            probe.Create,
            new ShmServiceOptions
            {
                Lifetime = isSingleton ? ShmServiceLifetime.Singleton : ShmServiceLifetime.PerCall,
                EnableOrderedDispatch = true,
                MaxConcurrentCallsPerInstance = isSingleton ? 1 : null,
            }));

        var client = new ScriptClient(channel.CreateCallInvoker());
        string text = string.Join("", Enumerable.Range(0, 3).Select(_ => client.Unary(Payloads.Empty).Text()));

        Assert.That(text, Is.EqualTo(isSingleton ? "111" : "123"));
        await channel.ShutdownAsync().Bounded();
        await Timeouts.Eventually(() => probe.Disposed == probe.Created);
    }

    private static ShmServiceOptions PerSession => new() { Lifetime = ShmServiceLifetime.PerSession };
}
