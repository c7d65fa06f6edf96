namespace RpcOverShm.FunctionalTests.Cancellation;

/// <summary>Local cancellation as an OperationCanceledException, which an option of the channel selects.</summary>
[EveryRig]
[NotOn(RigKind.GrpcCore, "It has no such option.")]
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class CancellationExceptionTests(RigKind kind) : RigFixture(kind)
{
    private static readonly RigOptions s_throwing = new() { ThrowsOperationCanceled = true };

    private readonly HeldMethods _held = new();

    [Test]
    [Item("C6")]
    public async Task Token_IsInTheException_AndTheStatusStays([Values] bool isBlocking)
    {
        CallRig rig = await StartAsync(_held.Script, s_throwing);
        using var cancel = new CancellationTokenSource();
        ScriptClient client = rig.Client;
        var options = new CallOptions(cancellationToken: cancel.Token);

        AsyncUnaryCall<Payload>? call = isBlocking ? null : client.UnaryAsync(Payloads.Empty, options);
        Task<Payload> response = call?.ResponseAsync ?? Timeouts.OnThread(() => client.Unary(Payloads.Empty, options));
        await _held.Began.Bounded();
        await cancel.CancelAsync();
        OperationCanceledException exception = await CancelledAsync(response);

        Assert.That(exception.CancellationToken, Is.EqualTo(cancel.Token));
        if (IsShm)
        {
            // grpc-dotnet wraps an exception of HttpClient instead.
            Assert.That(
                ((RpcException)exception.InnerException!).Status.Plain(),
                Is.EqualTo(new Status(StatusCode.Cancelled, "Call canceled by the client.")));
        }

        Assert.That(call?.GetStatus().StatusCode ?? StatusCode.Cancelled, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    [Item("C6")]
    public async Task Deadline_IsACancelledOperationToo()
    {
        CallRig rig = await StartAsync(_held.Script, s_throwing);

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(
            Payloads.Empty, new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(100)));
        await CancelledAsync(call.ResponseAsync);

        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    [Test]
    [Item("C6")]
    public async Task Dispose_CancelsWhatIsPending()
    {
        CallRig rig = await StartAsync(_held.Script, s_throwing);

        AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Task<bool> read = call.ResponseStream.MoveNext(CancellationToken.None);
        await _held.Began.Bounded();
        call.Dispose();
        await CancelledAsync(read);

        Assert.That(call.GetStatus().Plain(), Is.EqualTo(new Status(StatusCode.Cancelled, "gRPC call disposed.")));
    }

    [Test]
    [Item("C6")]
    public async Task TokensOfReadAndWrite_AreInTheException()
    {
        CallRig rig = await StartAsync(_held.Script, s_throwing);
        using var cancel = new CancellationTokenSource();

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Task<bool> read = call.ResponseStream.MoveNext(cancel.Token);
        await _held.Began.Bounded();
        await cancel.CancelAsync();
        OperationCanceledException byRead = await CancelledAsync(read);
        OperationCanceledException byWrite = await CancelledAsync(call.RequestStream.WriteAsync(Payloads.Empty));

        Assert.That(byRead.CancellationToken, Is.EqualTo(cancel.Token));
        AssertToldLater(byWrite, cancel.Token);
    }

    [Test]
    [Item("C6")]
    public async Task TokenOfAWrite_IsInTheExceptionsOfWriteAndRead()
    {
        CallRig rig = await StartAsync(_held.Script, s_throwing);
        using var cancel = new CancellationTokenSource();

        // Larger than the window, so the write waits for a method that does not read.
        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Task<bool> read = call.ResponseStream.MoveNext(CancellationToken.None);
        await _held.Began.Bounded();
        Task write = call.RequestStream.WriteAsync(Payloads.OfSize(3 << 20), cancel.Token);
        Assert.That(write.IsCompleted, Is.False);
        await cancel.CancelAsync();
        OperationCanceledException byWrite = await CancelledAsync(write);
        OperationCanceledException byRead = await CancelledAsync(read);

        Assert.That(byWrite.CancellationToken, Is.EqualTo(cancel.Token));
        AssertToldLater(byRead, cancel.Token);
    }

    [Test]
    [Item("C6")]
    public async Task CancelledByTheServer_IsAnRpcException()
    {
        CallRig rig = await StartAsync(
            new Script { Unary = (_, _) => throw new RpcException(new Status(StatusCode.Cancelled, "by the server")) },
            s_throwing);

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Cancelled, "by the server")));
    }

    [Test]
    [Item("C6")]
    public async Task WithoutTheOption_IsAnRpcException()
    {
        CallRig rig = await StartAsync(_held.Script);
        using var cancel = new CancellationTokenSource();

        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(
            Payloads.Empty, new CallOptions(cancellationToken: cancel.Token));
        await _held.Began.Bounded();
        await cancel.CancelAsync();

        Assert.That((await FailureOf(call)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    // In grpc-dotnet only the operation that received the token reports it.
    private void AssertToldLater(OperationCanceledException exception, CancellationToken token) =>
        Assert.That(exception.CancellationToken, IsShm ? Is.EqualTo(token) : Is.Not.EqualTo(token));

    private static async Task<OperationCanceledException> CancelledAsync(Task task)
    {
        try
        {
            await task.Bounded();
        }
        catch (OperationCanceledException exception)
        {
            return exception;
        }

        throw new AssertionException("Nothing was cancelled.");
    }
}
