using Grpc.Core;
using Grpc.Core.Interceptors;
using Grpc.Health.V1;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.Hosting.Tests;

/// <summary>The runs of a host's checks, which calls to its health service share.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
public class HealthRunTests : HostFixture
{
    private static readonly AsyncLocal<ServerCallContext?> s_call = new();

    private readonly HeldCheck _check = new();
    private readonly WaitingCalls _calls = new();

    private ShmChannel _channel = null!;

    [SetUp]
    public async Task StartHost()
    {
        Host.Services.AddHealthChecks().AddCheck("held", _check);

        // The host itself runs the checks now and then, too.
        Host.Services.Configure<HealthCheckPublisherOptions>(options => options.Delay = TimeSpan.FromDays(1));
        Host.Services.AddShmServer(Host.Address)
            .Configure(options => options.Interceptors.Add(_calls))
            .AddHealth();
        await Host.StartAsync();
        _channel = Host.Open();
    }

    [TearDown]
    public void DisposeChannel() => _channel.Dispose();

    [Test]
    public async Task Calls_DuringARun_ShareIt()
    {
        const int Calls = 4;
        var client = new Health.HealthClient(_channel);
        AsyncServerStreamingCall<HealthCheckResponse>[] watches =
            [.. Enumerable.Range(0, Calls).Select(_ => client.Watch(new HealthCheckRequest()))];
        AsyncUnaryCall<HealthCheckResponse>[] checks =
            [.. Enumerable.Range(0, Calls).Select(_ => client.CheckAsync(new HealthCheckRequest()))];
        await Timeouts.Eventually(() => _calls.Count == 2 * Calls);

        _check.Release();
        foreach (AsyncServerStreamingCall<HealthCheckResponse> watch in watches)
        {
            Assert.That(await watch.ResponseStream.MoveNext().Bounded());
            Assert.That(watch.ResponseStream.Current.Status, Is.EqualTo(ServingStatus.Serving));
            watch.Dispose();
        }

        foreach (AsyncUnaryCall<HealthCheckResponse> check in checks)
        {
            Assert.That((await check.ResponseAsync.Bounded()).Status, Is.EqualTo(ServingStatus.Serving));
        }

        Assert.That(_check.Runs, Is.EqualTo(1));
        await client.CheckAsync(new HealthCheckRequest()).ResponseAsync.Bounded();
        Assert.That(_check.Runs, Is.EqualTo(2), "a run that has ended is not shared");
    }

    [Test]
    public async Task Run_IsCancelled_WhenTheLastCallHasGone()
    {
        var client = new Health.HealthClient(_channel);
        AsyncUnaryCall<HealthCheckResponse> first = client.CheckAsync(new HealthCheckRequest());
        using AsyncUnaryCall<HealthCheckResponse> second = client.CheckAsync(new HealthCheckRequest());
        await Timeouts.Eventually(() => _calls.Count == 2);
        first.Dispose();
        await Timeouts.Eventually(() => _calls.Count == 1);
        Assert.That(_check.Cancelled.IsCompleted, Is.False);

        second.Dispose();
        await _check.Cancelled.Bounded();

        _check.Release();
        HealthCheckResponse response = await client.CheckAsync(new HealthCheckRequest()).ResponseAsync.Bounded();
        Assert.That(response.Status, Is.EqualTo(ServingStatus.Serving));
    }

    [Test]
    public async Task Run_HasNotTheContextOfTheCallThatCameFirst()
    {
        _check.Release();

        await new Health.HealthClient(_channel).CheckAsync(new HealthCheckRequest()).ResponseAsync.Bounded();

        Assert.That((_calls.Seen, _check.Call), Is.EqualTo((1, (ServerCallContext?)null)));
    }

    /// <summary>A check that waits until it is released.</summary>
    private sealed class HeldCheck : IHealthCheck
    {
        private readonly TaskCompletionSource _released = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private readonly TaskCompletionSource _cancelled = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private int _runs;

        public int Runs => Volatile.Read(ref _runs);

        /// <summary>The call in whose context the last run was; null for none.</summary>
        public ServerCallContext? Call { get; private set; }

        /// <summary>Completes when a run was cancelled.</summary>
        public Task Cancelled => _cancelled.Task;

        public void Release() => _released.SetResult();

        public async Task<HealthCheckResult> CheckHealthAsync(
            HealthCheckContext context, CancellationToken cancellationToken = default)
        {
            Interlocked.Increment(ref _runs);
            Call = s_call.Value;
            try
            {
                await _released.Task.WaitAsync(cancellationToken);
            }
            catch (OperationCanceledException)
            {
                _cancelled.TrySetResult();
                throw;
            }

            return HealthCheckResult.Healthy();
        }
    }

    /// <summary>Counts the calls whose methods have returned their tasks and go on. Marks their context.</summary>
    private sealed class WaitingCalls : Interceptor
    {
        private int _count;

        public int Count => Volatile.Read(ref _count);

        /// <summary>The number of unary calls so far. For one call at a time.</summary>
        public int Seen { get; private set; }

        public override async Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
            TRequest request, ServerCallContext context, UnaryServerMethod<TRequest, TResponse> continuation)
        {
            s_call.Value = context;
            Seen++;
            Task<TResponse> running = continuation(request, context);
            await CountAsync(running);
            return await running;
        }

        public override Task ServerStreamingServerHandler<TRequest, TResponse>(
            TRequest request,
            IServerStreamWriter<TResponse> responseStream,
            ServerCallContext context,
            ServerStreamingServerMethod<TRequest, TResponse> continuation) =>
            CountAsync(continuation(request, responseStream, context));

        private async Task CountAsync(Task running)
        {
            Interlocked.Increment(ref _count);
            try
            {
                await running;
            }
            finally
            {
                Interlocked.Decrement(ref _count);
            }
        }
    }
}
