using Grpc.Health.V1;
using RpcOverShm.Samples;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>The token that fires when a server begins to stop, for its long calls.</summary>
internal sealed class StoppingTests() : RigFixture(RigKind.Shm)
{
    private const int CallbackThrew = 305;

    [Test]
    public async Task Watches_WhenTheServerBeginsToStop_EndOkAndTheStopIsNotHeldUp()
    {
        ShmRig rig = await StartWithoutServerAsync();
        ShmServer server = rig.MakeServer();
        var health = new StoppingHealthService(server.Stopping);
        server.Services.Add(Health.BindService(health));
        await server.StartAsync();
        var client = new Health.HealthClient(rig.OpenChannel());
        using AsyncServerStreamingCall<HealthCheckResponse> watch = client.Watch(new HealthCheckRequest());
        using AsyncServerStreamingCall<HealthCheckResponse> unread = client.Watch(new HealthCheckRequest());
        Assert.That(await watch.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        await unread.ResponseHeadersAsync.Bounded();
        // Waits for running calls without a timeout.
        await server.StopAsync().Bounded();

        Assert.That(await watch.ResponseStream.MoveNext(CancellationToken.None).Bounded(), Is.False);
        Assert.That(watch.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
        Assert.That(await unread.ResponseStream.ToListAsync().Bounded(), Is.Not.Empty);
        Assert.That(() => health.SetStatus("", ServingStatus.NotServing), Throws.Nothing);
    }

    [Test]
    public async Task Stopping_InEveryWayToStop_IsRequestedAtOnce(
        [Values("grace", "no limit", "kill", "dispose")] string way, [Values] bool isStarted)
    {
        ShmRig rig = await StartShmAsync(new Script());
        ShmServer server = isStarted ? rig.Server : rig.MakeServer();
        CancellationToken stopping = server.Stopping;
        bool isEarly = stopping.IsCancellationRequested;

        Task stop = way switch
        {
            "grace" => server.StopAsync(TimeSpan.FromMinutes(1)),
            "no limit" => server.StopAsync(),
            "kill" => server.StopAsync(TimeSpan.Zero),
            _ => server.DisposeAsync().AsTask(),
        };
        bool isRequested = stopping.IsCancellationRequested;
        await stop.Bounded();

        Assert.That((isEarly, isRequested), Is.EqualTo((false, true)));
        Assert.That(server.Stopping, Is.EqualTo(stopping));
    }

    [Test]
    public async Task Stopping_WhileACallRuns_FiresBeforeTheTokenOfTheCall()
    {
        var began = new TaskCompletionSource();
        bool? isCallCancelled = null;
        ShmServer? server = null;
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = async (request, context) =>
            {
                var stopping = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                server!.Stopping.Register(stopping.SetResult);
                began.SetResult();
                await stopping.Task;
                isCallCancelled = context.CancellationToken.IsCancellationRequested;
                return request;
            },
        });
        server = rig.Server;
        Task<Payload> call = rig.Client.UnaryAsync(Payloads.Of("last")).ResponseAsync;
        await began.Task.Bounded();

        await server.StopAsync().Bounded();

        Assert.That((await call.Bounded()).Text(), Is.EqualTo("last"));
        Assert.That(isCallCancelled, Is.False);
    }

    [Test]
    public async Task Callback_ThatBlocks_HoldsUpNoStop()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using var mayEnd = new ManualResetEventSlim();
        var ended = new TaskCompletionSource();
        rig.Server.Stopping.Register(() =>
        {
            mayEnd.Wait(Timeouts.Wait);
            ended.SetResult();
        });

        await rig.Server.StopAsync().Bounded();

        Assert.That(ended.Task.IsCompleted, Is.False);
        Assert.That(rig.FileNames, Is.Empty);
        mayEnd.Set();
        await ended.Task.Bounded();
    }

    [Test]
    public async Task Callback_ThatThrows_IsLoggedAndHarmsNoOther()
    {
        ShmRig rig = await StartShmAsync(new Script());
        rig.Log.Expect(CallbackThrew);
        var other = new TaskCompletionSource();
        rig.Server.Stopping.Register(other.SetResult);
        rig.Server.Stopping.Register(() => throw new FormatException("of a callback"));

        await rig.Server.StopAsync().Bounded();

        await other.Task.Bounded();
        LogEntry entry = await rig.Log.WaitForAsync(CallbackThrew);
        Assert.That(entry.Exception?.InnerException, Is.TypeOf<FormatException>());
    }
}
