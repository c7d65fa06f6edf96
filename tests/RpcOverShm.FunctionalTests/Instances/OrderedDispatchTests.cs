using System.Collections.Concurrent;
using Grpc.Core.Interceptors;
using RpcOverShm.FunctionalTests.Scheduling;

namespace RpcOverShm.FunctionalTests.Instances;

/// <summary>The calls of a client to an ordered service start in the order in which they were made.</summary>
internal sealed class OrderedDispatchTests : InstanceFixture
{
    private const int Calls = 10_000;

    [Test]
    public async Task Calls_StartInTheirOrder_OneAtATime(
        [Values(ShmServiceLifetime.PerCall, ShmServiceLifetime.PerSession)] ShmServiceLifetime lifetime,
        [Values(null, 3)] int? places)
    {
        Starts starts = new();
        ShmRig rig = await StartAsync(
            starts.Probe,
            new ShmServiceOptions { Lifetime = lifetime, EnableOrderedDispatch = true },
            new RigOptions { Server = options => options.Limits.MaxConcurrentCallsPerConnection = places ?? Calls });

        await CallAsync(rig, Calls);

        Assert.That(starts.Numbers, Is.EqualTo(Enumerable.Range(0, Calls)));
        Assert.That(starts.Probe.MostInside, Is.EqualTo(1));
    }

    [Test]
    public async Task Calls_BehindAnInterceptorThatAwaits_AndAnInstanceLimit_StartInTheirOrder([Values(1, 4)] int limit)
    {
        const int Few = 1000;
        Starts starts = new();
        var interceptor = new YieldingInterceptor();
        ShmRig rig = await StartAsync(services => services.Add(
            starts.Probe.Create,
            new ShmServiceOptions
            {
                Lifetime = ShmServiceLifetime.PerSession,
                EnableOrderedDispatch = true,
                MaxConcurrentCallsPerInstance = limit,
            },
            interceptor));

        await CallAsync(rig, Few);

        Assert.That(starts.Numbers, Is.EqualTo(Enumerable.Range(0, Few)));
        Assert.That(starts.Probe.MostInside, Is.EqualTo(1));
    }

    // One thread starts many of them, one after the other.
    [Test]
    public async Task Calls_LeaveTheirThreadAsItWas()
    {
        var seen = new ConcurrentQueue<ThreadFacts>();
        var probe = new Probe
        {
            Run = (_, request, _) =>
            {
                seen.Enqueue(ThreadFacts.OfThisThread());
                ThreadFacts.Change();
                return Task.FromResult(request);
            },
        };
        ShmRig rig = await StartAsync(
            probe,
            new ShmServiceOptions { EnableOrderedDispatch = true },
            new RigOptions { Scheduling = ShmSchedulingMode.ThreadPool });

        await CallAsync(rig, 1000);

        Assert.That(seen, Has.Count.EqualTo(1000).And.All.Matches<ThreadFacts>(static one => one.IsUnchanged));
    }

    [Test]
    public async Task Calls_ThatEndBeforeTheyStart_HoldUpNoOthers()
    {
        const int Few = 300;
        Starts starts = new();
        ShmRig rig = await StartAsync(
            starts.Probe,
            new ShmServiceOptions { EnableOrderedDispatch = true },
            new RigOptions { Server = options => options.Limits.MaxConcurrentCallsPerConnection = 2 });
        await rig.ShmChannel.ConnectAsync().Bounded();
        using var cancel = new CancellationTokenSource();
        var calls = new List<AsyncUnaryCall<Payload>>();
        for (int i = 0; i < Few; i++)
        {
            calls.Add(To(rig.Channel).EchoAsync(
                Payloads.Of($"{i}"), cancellationToken: i % 3 == 0 ? cancel.Token : default));
        }

        await cancel.CancelAsync();
        for (int i = 0; i < Few; i++)
        {
            if (i % 3 != 0)
            {
                await calls[i].ResponseAsync.Bounded();
            }
        }

        Assert.That(starts.Numbers, Is.Ordered);
        Assert.That(starts.Numbers.Count(number => number % 3 != 0), Is.EqualTo(Few - (Few / 3)));
    }

    [Test]
    public async Task Streams_StartInOrder_AndThenOverlap()
    {
        var probe = new Probe { Run = static (_, request, _) => Task.FromResult(request) };
        ShmRig rig = await StartAsync(probe, new ShmServiceOptions { EnableOrderedDispatch = true });
        using AsyncDuplexStreamingCall<Payload, Payload> first = To(rig.Channel).EchoAll();
        using AsyncDuplexStreamingCall<Payload, Payload> second = To(rig.Channel).EchoAll();

        // The first method waits for its first request, and holds nobody up.
        await second.RequestStream.WriteAsync(Payloads.Of("2"));
        Assert.That(await second.ResponseStream.MoveNext().Bounded(), Is.True);
        Payload third = await To(rig.Channel).EchoAsync(Payloads.Of("3")).ResponseAsync.Bounded();
        Assert.That(third.Text(), Is.EqualTo("3"));
        await first.RequestStream.WriteAsync(Payloads.Of("1"));
        Assert.That(await first.ResponseStream.MoveNext().Bounded(), Is.True);
        await first.RequestStream.CompleteAsync();
        await second.RequestStream.CompleteAsync();

        Assert.That(await first.ResponseStream.MoveNext().Bounded(), Is.False);
        Assert.That(await second.ResponseStream.MoveNext().Bounded(), Is.False);
    }

    private static async Task CallAsync(ShmRig rig, int count)
    {
        await rig.ShmChannel.ConnectAsync().Bounded();
        var calls = new List<Task>();
        for (int i = 0; i < count; i++)
        {
            calls.Add(To(rig.Channel).EchoAsync(Payloads.Of($"{i}")).ResponseAsync);
        }

        await Task.WhenAll(calls).Bounded();
    }

    /// <summary>Methods whose first part notes its number, and may block a little.</summary>
    private sealed class Starts
    {
        public Starts()
        {
            Probe = new Probe();
            Probe.Run = async (_, request, _) =>
            {
                int number = int.Parse(request.Text(), System.Globalization.CultureInfo.InvariantCulture);
                Probe.Enter();
                Numbers.Add(number);
                if (number % 100 == 0)
                {
                    Thread.Yield();
                }

                Probe.Leave();
                if (number % 2 == 0)
                {
                    await Task.Yield();
                }

                return request;
            };
        }

        public Probe Probe { get; }

        // A plain list: one first part runs at a time.
        public List<int> Numbers { get; } = [];
    }

    private sealed class YieldingInterceptor : Interceptor
    {
        public override async Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
            TRequest request, ServerCallContext context, UnaryServerMethod<TRequest, TResponse> continuation)
        {
            await Task.Yield();
            return await continuation(request, context);
        }
    }
}
