using RpcOverShm.FunctionalTests.Scheduling;

namespace RpcOverShm.FunctionalTests.Credentials;

/// <summary>Credentials that block or complete late, also in a batch.</summary>
internal sealed class CredentialTimingTests() : RigFixture(RigKind.Shm)
{
    [Test]
    public async Task BlockingCall_InAContextOfOneThread_DoesNotWaitForItself()
    {
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = (_, context) => Task.FromResult(Payloads.Of(context.RequestHeaders.GetValue("authorization")!)),
        });
        var options = new CallOptions(credentials: CallCredentials.FromInterceptor(async (_, metadata) =>
        {
            // Resumes in the caller's context, as code without ConfigureAwait(false) does.
            await Task.Yield();
            metadata.Add("authorization", "in time");
        }));
        ScriptClient client = rig.Client;

        using var context = new OneThreadContext();
        string answer = "";
        await context.RunAsync(() =>
        {
            answer = client.Unary(Payloads.Empty, options).Text();
            return Task.CompletedTask;
        }).Bounded();

        Assert.That(answer, Is.EqualTo("in time"));
    }

    [Test]
    public async Task Shutdown_WhileCredentialsAreAsked_EndsTheCallWhenTheyHaveAnswered()
    {
        ShmRig rig = await StartShmAsync(new Script());
        var mayGoOn = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var options = new CallOptions(credentials: CallCredentials.FromInterceptor((_, _) => mayGoOn.Task));

        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty, options);
        await rig.ShmChannel.ShutdownAsync().Bounded();
        mayGoOn.SetResult();

        Assert.That((await FailureOf(call)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Shutdown_WhileCredentialsNeverAnswer_EndsTheCall(
        [ValueSource(typeof(AnyCall), nameof(AnyCall.Shapes))] MethodType shape)
    {
        ShmRig rig = await StartShmAsync(new Script());
        var options = new CallOptions(credentials: Never());

        using AnyCall call = AnyCall.Start(rig.Invoker, shape, options);
        await rig.ShmChannel.ShutdownAsync().Bounded();
        RpcException failure = await FailureOf(call.Outcome);

        Assert.That(failure.Status, Is.EqualTo(new Status(StatusCode.Cancelled, "gRPC call disposed.")));
    }

    [Test]
    public async Task Shutdown_WhileCredentialsNeverAnswer_EndsBlockingAndBatchedCallsToo()
    {
        ShmRig rig = await StartShmAsync(new Script());
        var isAsked = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var options = new CallOptions(credentials: CallCredentials.FromInterceptor((_, _) =>
        {
            isAsked.TrySetResult();
            return new TaskCompletionSource().Task;
        }));
        using ShmCallBatch batch = rig.ShmChannel.CreateBatch();
        AsyncUnaryCall<Payload> batched = new ScriptClient(batch.CallInvoker).UnaryAsync(
            Payloads.Empty, new CallOptions(credentials: Never()));
        await batch.SendAsync().Bounded();
        ScriptClient client = rig.Client;

        Task<RpcException> blocking = CallFailure.OfBlocking(() => client.Unary(Payloads.Empty, options));
        await isAsked.Task.Bounded();
        await rig.ShmChannel.ShutdownAsync().Bounded();

        Assert.That((await blocking).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That((await FailureOf(batched)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Dispose_WhileCredentialsAreAsked_EndsWritesToo()
    {
        ShmRig rig = await StartShmAsync(new Script());
        var never = new TaskCompletionSource();
        var options = new CallOptions(credentials: CallCredentials.FromInterceptor((_, _) => never.Task));

        AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream(options);
        Task write = call.RequestStream.WriteAsync(Payloads.Empty);
        call.Dispose();

        Assert.That((await FailureOf(write)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That((await FailureOf(call.ResponseAsync)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Batch_HasTheCredentialsOfCallAndChannel()
    {
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (_, context) => Task.FromResult(Payloads.Of(string.Join(
                    ',', context.RequestHeaders.GetAll("authorization").Select(entry => entry.Value)))),
            },
            new RigOptions { ChannelCallCredentials = Adding("channel") });
        using ShmCallBatch batch = rig.ShmChannel.CreateBatch();
        var client = new ScriptClient(batch.CallInvoker);

        AsyncUnaryCall<Payload> own = client.UnaryAsync(Payloads.Empty, new CallOptions(credentials: Adding("own")));
        AsyncUnaryCall<Payload> none = client.UnaryAsync(Payloads.Empty);
        await batch.SendAsync().Bounded();

        Assert.That((await own.ResponseAsync.Bounded()).Text(), Is.EqualTo("own,channel"));
        Assert.That((await none.ResponseAsync.Bounded()).Text(), Is.EqualTo("channel"));
    }

    [Test]
    public async Task Batch_WithCredentialsThatTakeTheirTime_SendsTheOthers([Values(100, 100_000)] int bytes)
    {
        ShmRig rig = await StartShmAsync(new Script());
        var mayGoOn = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var slow = CallCredentials.FromInterceptor((_, _) => mayGoOn.Task);
        ShmCallBatch batch = rig.ShmChannel.CreateBatch();
        var client = new ScriptClient(batch.CallInvoker);

        AsyncUnaryCall<Payload> late = client.UnaryAsync(
            Payloads.OfSize(bytes, 1), new CallOptions(credentials: slow));
        AsyncUnaryCall<Payload> prompt = client.UnaryAsync(
            Payloads.OfSize(bytes, 2), new CallOptions(credentials: Adding("prompt")));
        AsyncUnaryCall<Payload> plain = client.UnaryAsync(Payloads.OfSize(bytes, 3));
        await batch.SendAsync().Bounded();
        batch.Dispose();
        Payload[] answers = await Task.WhenAll(prompt.ResponseAsync, plain.ResponseAsync).Bounded();
        bool wasEarly = late.ResponseAsync.IsCompleted;
        mayGoOn.SetResult();

        Assert.That(answers[0].IsOfSize(bytes, 2) && answers[1].IsOfSize(bytes, 3));
        Assert.That(wasEarly, Is.False);
        Assert.That((await late.ResponseAsync.Bounded()).IsOfSize(bytes, 1));
    }

    [Test]
    public async Task Batch_WhoseCredentialsComeWhenTheServerIsGone_WaitsForTheNextWhereAsked()
    {
        ShmRig rig = await StartShmAsync(new Script());
        await rig.ShmChannel.ConnectAsync().Bounded();
        var mayGoOn = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var options = new CallOptions(credentials: CallCredentials.FromInterceptor((_, _) => mayGoOn.Task));
        using ShmCallBatch batch = rig.ShmChannel.CreateBatch();
        var client = new ScriptClient(batch.CallInvoker);

        AsyncUnaryCall<Payload> waiting = client.UnaryAsync(Payloads.Of("waits"), options.WithWaitForReady());
        AsyncUnaryCall<Payload> other = client.UnaryAsync(Payloads.Of("does not"), options);
        Task sending = batch.SendAsync();
        Task isLost = rig.ShmChannel.WaitForStateChangedAsync(ConnectivityState.Ready);
        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();

        // Until the client notices the loss, calls go to the dead server and fail with it.
        await isLost.Bounded();
        mayGoOn.SetResult();
        RpcException failure = await FailureOf(other);
        await rig.StartServerAsync(new Script().Build());

        await sending.Bounded();
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That((await waiting.ResponseAsync.Bounded()).Text(), Is.EqualTo("waits"));
    }

    private static CallCredentials Never() =>
        CallCredentials.FromInterceptor((_, _) => new TaskCompletionSource().Task);

    private static CallCredentials Adding(string value) => CallCredentials.FromInterceptor((_, metadata) =>
    {
        metadata.Add("authorization", value);
        return Task.CompletedTask;
    });
}
