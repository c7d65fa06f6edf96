namespace RpcOverShm.FunctionalTests.Lifetimes;

[EveryRig]
internal sealed class ServerStopTests(RigKind kind) : RigFixture(kind)
{
    [Test]
    [Item("S18")]
    public async Task Shutdown_LetsRunningCallsEndAndRefusesNewOnes()
    {
        var began = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var mayEnd = new TaskCompletionSource();
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (request, responses, context) =>
            {
                began.SetResult();
                await mayEnd.Task;
                Assert.That(context.CancellationToken.IsCancellationRequested, Is.False);
                await responses.WriteAsync(request);
            },
        });

        using AsyncServerStreamingCall<Payload> running = rig.Client.ServerStream(Payloads.Of("running"));
        await began.Task.Bounded();
        Task stopping = rig.ShutDownServerAsync();
        RpcException refused = await FailureOf(CallUntilRefusedAsync(rig));
        Assert.That(stopping.IsCompleted, Is.False);
        mayEnd.SetResult();
        List<Payload> responses = await running.ResponseStream.ToListAsync();
        await stopping.Bounded();

        // Grpc.Core's server resets a call that has not reached a method yet.
        Assert.That(
            refused.StatusCode,
            IsDotNet
                ? Is.EqualTo(StatusCode.Unavailable)
                : Is.EqualTo(StatusCode.Unavailable).Or.EqualTo(StatusCode.Cancelled));
        Assert.That(responses.Single().Text(), Is.EqualTo("running"));
    }

    [Test]
    [Item("S18")]
    public async Task Kill_FiresTheTokensAndClientsSeeUnavailable()
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);

        Task<RpcException> running = FailureOf(rig.Client.UnaryAsync(Payloads.Empty));
        await held.Began.Bounded();
        await rig.KillServerAsync().Bounded();
        RpcException failure = await running;
        await held.Cancelled.Bounded();
        RpcException refused = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        // Grpc.Core's server ends its calls as cancelled. Kestrel may close the connection before it resets the call,
        // which grpc-dotnet's client reports as internal.
        Assert.That(
            failure.StatusCode,
            IsShm
                ? Is.EqualTo(StatusCode.Unavailable)
                : Is.AnyOf(StatusCode.Unavailable, StatusCode.Cancelled, StatusCode.Internal));
        Assert.That(refused.StatusCode, Is.EqualTo(StatusCode.Unavailable));
    }

    // A stop takes effect shortly after the request for it.
    private static async Task CallUntilRefusedAsync(CallRig rig)
    {
        for (int i = 0; i < 100_000; i++)
        {
            await rig.Client.UnaryAsync(Payloads.Empty);
        }
    }
}
