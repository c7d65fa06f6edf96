namespace RpcOverShm.FunctionalTests.Instances;

/// <summary>Failures when a service is added, and when an instance is created or released.</summary>
internal sealed class ActivationTests : InstanceFixture
{
    private const int ActivationFailed = 320;
    private const int ReleaseFailed = 321;

    [Test]
    public async Task Activator_ThatThrows_EndsThatCallInternal_AndTheNextOneTriesAgain(
        [Values] ShmServiceLifetime lifetime, [Values] bool isDetailed)
    {
        var probe = new Probe();
        int tries = 0;
        ShmRig rig = await StartAsync(
            services => services.Add(
                _ => Interlocked.Increment(ref tries) == 1
                    ? throw new InvalidOperationException("No database.")
                    : new ProbeService(probe),
                new ShmServiceOptions { Lifetime = lifetime }),
            new RigOptions { HasDetailedErrors = isDetailed });
        rig.Log.Expect(ActivationFailed);

        RpcException failure = await FailureOf(To(rig.Channel).EchoAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(
            failure.Status.Detail,
            Is.EqualTo("The service could not be created."
                + (isDetailed ? " InvalidOperationException: No database." : "")));
        Assert.That((await rig.Log.WaitForAsync(ActivationFailed)).Exception?.Message, Is.EqualTo("No database."));
        Assert.That(To(rig.Channel).Echo(Payloads.Empty).Text(), Is.EqualTo("1"));
    }

    [Test]
    public async Task Activator_ThatReturnsNull_EndsTheCallInternal()
    {
        ShmRig rig = await StartAsync(services => services.Add<ProbeService>(static _ => null!));
        rig.Log.Expect(ActivationFailed);

        RpcException failure = await FailureOf(To(rig.Channel).EchoAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
    }

    [Test]
    public async Task Release_ThatThrows_IsLogged_AndTheCallSucceeds()
    {
        var probe = new Probe { OnDispose = () => throw new InvalidOperationException("It is stuck.") };
        ShmRig rig = await StartAsync(probe, options: null);
        rig.Log.Expect(ReleaseFailed);

        Assert.That(To(rig.Channel).Echo(Payloads.Empty).Text(), Is.EqualTo("1"));

        Assert.That((await rig.Log.WaitForAsync(ReleaseFailed)).Exception?.Message, Is.EqualTo("It is stuck."));
    }

    [Test]
    public async Task Release_OfTheFunction_RunsOnceInPlaceOfTheDisposal(
        [Values] ShmServiceLifetime lifetime, [Values] bool isFailing)
    {
        var probe = new Probe();
        int released = 0;
        ShmRig rig = await StartAsync(
            services => services.Add(
                context =>
                {
                    context.Release = async () =>
                    {
                        await Task.Yield();
                        Interlocked.Increment(ref released);
                        if (isFailing)
                        {
                            throw new InvalidOperationException("It is stuck.");
                        }
                    };
                    return new ProbeService(probe);
                },
                new ShmServiceOptions { Lifetime = lifetime }));
        rig.Log.Expect(ReleaseFailed);

        Assert.That(To(rig.Channel).Echo(Payloads.Empty).Text(), Is.EqualTo("1"));
        Assert.That(Volatile.Read(ref released), Is.EqualTo(lifetime == ShmServiceLifetime.PerCall ? 1 : 0));
        await rig.ShutDownServerAsync().Bounded();

        Assert.That((Volatile.Read(ref released), probe.Created, probe.Disposed), Is.EqualTo((1, 1, 0)));
        Assert.That(rig.Log.Entries.Count(entry => entry.Id == ReleaseFailed), Is.EqualTo(isFailing ? 1 : 0));
    }

    [Test]
    public async Task Release_OfAFunctionThatFails_RunsOnce([Values] ShmServiceLifetime lifetime, [Values] bool isNull)
    {
        var released = new TaskCompletionSource();
        ShmRig rig = await StartAsync(
            services => services.Add<ProbeService>(
                context =>
                {
                    context.Release = () =>
                    {
                        released.SetResult();
                        return ValueTask.CompletedTask;
                    };
                    return isNull ? null! : throw new InvalidOperationException("No database.");
                },
                new ShmServiceOptions { Lifetime = lifetime }));
        rig.Log.Expect(ActivationFailed);

        RpcException failure = await FailureOf(To(rig.Channel).EchoAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        await released.Task.Bounded();
    }

    [Test]
    public void Lifetime_ByDefault_IsTheDefaultOfItsType() => Assert.That(
        (new ShmServiceOptions().Lifetime, default(ShmServiceLifetime)),
        Is.EqualTo((ShmServiceLifetime.PerCall, ShmServiceLifetime.PerCall)));

    [Test]
    public void Add_OptionsThatContradictEachOther_IsRefused()
    {
        var services = new ShmServer("shm://x").Services;
        var probe = new Probe();

        Assert.That(
            () => services.Add(probe.Create, new ShmServiceOptions { MaxConcurrentCallsPerInstance = 1 }),
            Throws.ArgumentException.With.Message.Contains("PerInstance is 1 but Lifetime is PerCall"));
        Assert.That(
            () => services.Add(
                probe.Create,
                new ShmServiceOptions { Lifetime = ShmServiceLifetime.Singleton, MaxConcurrentCallsPerInstance = 0 }),
            Throws.InstanceOf<ArgumentOutOfRangeException>().With.Message.Contains("MaxConcurrentCallsPerInstance"));
        Assert.That(
            () => services.Add(probe.Create, new ShmServiceOptions { MaxQueuedCallsPerInstance = -1 }),
            Throws.InstanceOf<ArgumentOutOfRangeException>().With.Message.Contains("MaxQueuedCallsPerInstance"));
        Assert.That(
            () => services.Add(probe.Create, new ShmServiceOptions { Lifetime = (ShmServiceLifetime)9 }),
            Throws.InstanceOf<ArgumentOutOfRangeException>().With.Message.Contains("Lifetime"));
        Assert.That(
            () => new ShmChannelOptions().Callbacks.Services.Add(
                probe.Create, new ShmServiceOptions { Lifetime = ShmServiceLifetime.PerSession }),
            Throws.ArgumentException.With.Message.Contains("PerSession is only for the services of a server"));
        Assert.That(services, Is.Empty);
    }

    [Test]
    public void Add_AClassWithoutTheMethods_IsRefused()
    {
        var services = new ShmServer("shm://x").Services;

        Assert.That(
            () => services.Add(static _ => new Script()),
            Throws.ArgumentException.With.Message.Contains("does not derive from a class that Grpc.Tools"));
    }
}
