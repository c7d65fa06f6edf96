using System.Diagnostics;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.FunctionalTests.Connectivity;

/// <summary>Calls that wait for a server: grpc-behaviour.md 1.10.</summary>
[Parallelizable]
internal sealed class WaitForReadyTests() : RigFixture(RigKind.Shm)
{
    private const int NotConnected = 204;

    private static readonly CallOptions s_waiting = new CallOptions().WithWaitForReady();

    [Test]
    public async Task Calls_OfEveryShape_MadeBeforeThereIsAServer_AreServedByIt()
    {
        ShmRig rig = await StartWithoutServerAsync();
        ScriptClient client = rig.Client;

        Task<Payload> blocking = await StartBlockingAsync(rig.Invoker, "blocking", s_waiting);
        AsyncUnaryCall<Payload> unary = client.UnaryAsync(Payloads.Of("unary"), s_waiting);
        AsyncServerStreamingCall<Payload> serverStream = client.ServerStream(Payloads.Of("server"), s_waiting);
        AsyncClientStreamingCall<Payload, Payload> clientStream = client.ClientStream(s_waiting);
        Task write = clientStream.RequestStream.WriteAsync(Payloads.Of("client"));
        AsyncDuplexStreamingCall<Payload, Payload> duplex = client.Duplex(s_waiting);
        await FailsWithoutWaitingAsync(client);
        bool wasEarly = blocking.IsCompleted || unary.ResponseAsync.IsCompleted || write.IsCompleted;
        await rig.StartServerAsync(new Script().Build());
        await write.Bounded();
        await clientStream.RequestStream.CompleteAsync().Bounded();
        await duplex.RequestStream.WriteAsync(Payloads.Of("duplex")).Bounded();
        await duplex.RequestStream.CompleteAsync().Bounded();
        List<Payload> streamed = await serverStream.ResponseStream.ToListAsync().Bounded();
        List<Payload> echoed = await duplex.ResponseStream.ToListAsync().Bounded();

        Assert.That(wasEarly, Is.False);
        Assert.That((await blocking.Bounded()).Text(), Is.EqualTo("blocking"));
        Assert.That((await unary.ResponseAsync.Bounded()).Text(), Is.EqualTo("unary"));
        Assert.That(streamed.Single().Text(), Is.EqualTo("server"));
        Assert.That((await clientStream.ResponseAsync.Bounded()).Text(), Is.EqualTo("client"));
        Assert.That(echoed.Single().Text(), Is.EqualTo("duplex"));
    }

    [Test]
    public async Task Deadline_OfACallThatWaits_EndsIt()
    {
        ShmRig rig = await StartWithoutServerAsync();
        await FailsWithoutWaitingAsync(rig.Client);
        RpcException awaited = await FailureOf(rig.Client.UnaryAsync(
            Payloads.Empty, s_waiting.WithDeadline(DateTime.UtcNow.AddMilliseconds(100))));
        RpcException blocking = await CallFailure.OfBlocking(() => rig.Client.Unary(
            Payloads.Empty, s_waiting.WithDeadline(DateTime.UtcNow.AddMilliseconds(100))));

        foreach (Status status in new[] { awaited.Status, blocking.Status })
        {
            // As in grpc-dotnet the detail is empty; the exception says why there was no connection.
            Assert.That(status.Plain(), Is.EqualTo(new Status(StatusCode.DeadlineExceeded, "")));
            Assert.That(status.DebugException, Is.TypeOf<ShmTransportException>());
            Assert.That(status.DebugException!.Message, Does.StartWith("No server listens at "));
        }
    }

    [Test]
    public async Task Token_OfACallThatWaits_EndsIt([Values] bool isBlocking)
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var cancel = new CancellationTokenSource();
        CallOptions options = s_waiting.WithCancellationToken(cancel.Token);

        Task<Payload> call = isBlocking
            ? await StartBlockingAsync(rig.Invoker, "", options)
            : rig.Client.UnaryAsync(Payloads.Empty, options).ResponseAsync;
        await FailsWithoutWaitingAsync(rig.Client);
        await cancel.CancelAsync();

        RpcException failure = await FailureOf(call);
        Assert.That(
            failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Cancelled, "Call canceled by the client.")));
        Assert.That(failure.InnerException, Is.TypeOf<ShmTransportException>());
        Assert.That(failure.InnerException!.Message, Does.StartWith("No server listens at "));
    }

    [Test]
    public async Task Waits_ForAServer_AreLoggedWithTheirReason_EachTimeAfterTwiceTheTime()
    {
        const int Entries = 3;
        ShmRig rig = await StartWithoutServerAsync();
        using var cancel = new CancellationTokenSource();
        long begun = Stopwatch.GetTimestamp();

        Task connecting = rig.ShmChannel.ConnectAsync(cancel.Token);
        AsyncUnaryCall<Payload> call =
            rig.Client.UnaryAsync(Payloads.Empty, s_waiting.WithCancellationToken(cancel.Token));
        await Timeouts.Eventually(() => rig.Log.Of(NotConnected).Count == Entries);
        TimeSpan time = Stopwatch.GetElapsedTime(begun);
        await cancel.CancelAsync();

        string[] texts = [.. rig.Log.Of(NotConnected).Select(entry => entry.Message)];
        OperationCanceledException? cancelled = Assert.CatchAsync<OperationCanceledException>(() => connecting);
        Assert.That(time, Is.GreaterThanOrEqualTo(TimeSpan.FromSeconds(4)), "after 1, 2 and 4 seconds");
        Assert.That(texts, Is.All.Contains("and 2 caller(s) wait for it: No server listens at "));
        Assert.That(rig.Log.Of(NotConnected).Select(entry => entry.Level), Is.All.EqualTo(LogLevel.Warning));
        Assert.That(cancelled!.Message, Does.Contain("was cancelled. No server listens at "));
        Assert.That(cancelled.InnerException, Is.TypeOf<ShmTransportException>());
        Assert.That(cancelled.CancellationToken, Is.EqualTo(cancel.Token));
        await FailureOf(call);
    }

    // Each wait is reported after a second of its own, and none when it has ended.
    [Test]
    public async Task Waits_ThatEndWithinASecond_AreNotLogged()
    {
        ShmRig rig = await StartWithoutServerAsync();

        for (int i = 0; i < 25; i++)
        {
            await FailureOf(rig.Client.UnaryAsync(
                Payloads.Empty, s_waiting.WithDeadline(DateTime.UtcNow.AddMilliseconds(60))));
        }

        await CallRig.WhenLoggedAsync();
        Assert.That(rig.Log.Of(NotConnected), Is.Empty);
    }

    [Test]
    public async Task Dispose_OfACallThatWaits_EndsIt_AndLeavesNothingOfIt()
    {
        ShmRig rig = await StartWithoutServerAsync();

        WeakReference call = await EndOneAsync(rig.Client);

        await Timeouts.Eventually(
            () =>
            {
                GC.Collect();
                return !call.IsAlive;
            },
            "nothing holds on to a call that has ended");
    }

    [Test]
    public async Task Shutdown_OfTheChannel_EndsCallsThatWait()
    {
        ShmRig rig = await StartWithoutServerAsync();
        AsyncUnaryCall<Payload> awaited = rig.Client.UnaryAsync(Payloads.Empty, s_waiting);
        ScriptClient client = rig.Client;
        Task<Payload> blocking = await StartBlockingAsync(rig.Invoker, "", s_waiting);
        await FailsWithoutWaitingAsync(client);

        await rig.ShmChannel.ShutdownAsync().Bounded();

        Assert.That((await FailureOf(awaited)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That((await FailureOf(blocking)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Batch_WithCallsThatWait_EndsTheOthersFirst()
    {
        ShmRig rig = await StartWithoutServerAsync();
        using ShmCallBatch batch = rig.ShmChannel.CreateBatch();
        var client = new ScriptClient(batch.CallInvoker);

        AsyncUnaryCall<Payload> waiting = client.UnaryAsync(Payloads.Of("waits"), s_waiting);
        AsyncUnaryCall<Payload> other = client.UnaryAsync(Payloads.Of("does not"));
        Task sending = batch.SendAsync();
        RpcException failure = await FailureOf(other);
        await rig.StartServerAsync(new Script().Build());
        await sending.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That((await waiting.ResponseAsync.Bounded()).Text(), Is.EqualTo("waits"));
    }

    private static async Task<WeakReference> EndOneAsync(ScriptClient client)
    {
        AsyncUnaryCall<Payload> call = client.UnaryAsync(Payloads.Empty, s_waiting);
        await FailsWithoutWaitingAsync(client);
        call.Dispose();
        await FailureOf(call);
        return new WeakReference(call.ResponseAsync);
    }

    /// <summary>Starts a blocking call on its own thread; returns when its request is being serialised.</summary>
    private static async Task<Task<Payload>> StartBlockingAsync(CallInvoker invoker, string text, CallOptions options)
    {
        var begun = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Method<Payload, Payload> noting = Script.UnaryMethod.Serializing(() => begun.TrySetResult());
        Task<Payload> response = Timeouts.OnThread(
            () => invoker.BlockingUnaryCall(noting, null, options, Payloads.Of(text)));
        await begun.Task.Bounded();
        return response;
    }

    /// <summary>Makes a call that does not wait and fails, so that waiting calls could have failed as well.</summary>
    private static async Task FailsWithoutWaitingAsync(ScriptClient client)
    {
        RpcException failure = await FailureOf(client.UnaryAsync(Payloads.Empty));
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
    }
}
