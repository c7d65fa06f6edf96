namespace RpcOverShm.FunctionalTests.Cancellation;

/// <summary>Calls that the client cancels by a token of the call, a read or a write.</summary>
[EveryRig]
internal sealed class ClientCancelTests(RigKind kind) : RigFixture(kind)
{
    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C4")]
    public async Task TokenOfTheCall_CancelsItAndTheMethodsTokenFires(MethodType shape)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);
        using var cancellation = new CancellationTokenSource();

        AnyCall call = AnyCall.Start(rig.Invoker, shape, new CallOptions(cancellationToken: cancellation.Token));
        await held.Began.Bounded();
        await cancellation.CancelAsync();
        RpcException failure = await FailureOf(call.Outcome);
        await held.Cancelled.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(call.Status.StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    [Item("C4")]
    public async Task TokenOfABlockingCall_CancelsItAndTheMethodsTokenFires()
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);
        using var cancellation = new CancellationTokenSource();

        Task<RpcException> call = CallFailure.OfBlocking(
            () => rig.Client.Unary(Payloads.Empty, new CallOptions(cancellationToken: cancellation.Token)));
        await held.Began.Bounded();
        await cancellation.CancelAsync();
        await held.Cancelled.Bounded();

        Assert.That((await call).StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    [Item("C4")]
    public async Task TokenOfARead_CancelsTheWholeCall([Values] bool isDuplex, [Values] bool isCancelledBefore)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);
        using var cancellation = new CancellationTokenSource();
        AsyncServerStreamingCall<Payload>? stream = isDuplex ? null : rig.Client.ServerStream(Payloads.Empty);
        AsyncDuplexStreamingCall<Payload, Payload>? duplex = isDuplex ? rig.Client.Duplex() : null;
        IAsyncStreamReader<Payload> responses = stream?.ResponseStream ?? duplex!.ResponseStream;
        await held.Began.Bounded();
        if (isCancelledBefore)
        {
            await cancellation.CancelAsync();
        }

        Task<bool> read = responses.MoveNext(cancellation.Token);
        await cancellation.CancelAsync();
        RpcException failure = await FailureOf(read);
        await held.Cancelled.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Status status = stream?.GetStatus() ?? duplex!.GetStatus();
        Assert.That(status.StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    [Item("C4")]
    public async Task TokenOfAWrite_CancelsTheWholeCall([Values] bool isCancelledBefore)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script, RigOptions.AnySize);
        using var cancellation = new CancellationTokenSource();
        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await held.Began.Bounded();
        if (!IsDotNet)
        {
            // Grpc.Core does not implement this overload; the interface's default method refuses cancellable tokens.
            Exception? refused = await Thrown.InAllAsync(
                () => call.RequestStream.WriteAsync(Payloads.Empty, cancellation.Token));
            Assert.That(refused, Is.TypeOf<NotSupportedException>());
            return;
        }

        if (isCancelledBefore)
        {
            await cancellation.CancelAsync();
        }

        // Larger than the window, so the write waits for a method that does not read.
        Task write = call.RequestStream.WriteAsync(Payloads.OfSize(10 << 20), cancellation.Token);
        Assert.That(write.IsCompleted, Is.EqualTo(isCancelledBefore));
        await cancellation.CancelAsync();
        RpcException failure = await FailureOf(write);
        RpcException response = await FailureOf(call.ResponseAsync);
        await held.Cancelled.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(response.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    [Item("C4")]
    public async Task TokenOfAReadOrWriteThatHasEnded_MeansNothingToTheCall()
    {
        CallRig rig = await StartAsync(new Script());
        using var cancellation = new CancellationTokenSource();

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        await (IsDotNet
            ? call.RequestStream.WriteAsync(Payloads.Of("x"), cancellation.Token)
            : call.RequestStream.WriteAsync(Payloads.Of("x"))).Bounded();
        Assert.That(await call.ResponseStream.MoveNext(cancellation.Token).Bounded());
        await cancellation.CancelAsync();
        await call.RequestStream.WriteAsync(Payloads.Of("y")).Bounded();
        await call.RequestStream.CompleteAsync().Bounded();

        Assert.That((await call.ResponseStream.ToListAsync()).Single().Text(), Is.EqualTo("y"));
    }

    [Test]
    [NotOn(RigKind.GrpcDotNet, "HTTP/2's reset overtakes the half-close before it.")]
    [Item("C22")]
    public async Task CompleteAsyncAndDisposeAtOnce_EndTheMethodsReadWell()
    {
        const int Rounds = 200;
        var reading = new TaskCompletionSource();
        var ended = new TaskCompletionSource<bool>();
        CallRig rig = await StartAsync(new Script
        {
            Duplex = async (requests, _, _) =>
            {
                try
                {
                    bool isFirstThere = await requests.MoveNext(CancellationToken.None);
                    Task<bool> next = requests.MoveNext(CancellationToken.None);
                    reading.SetResult();
                    ended.SetResult(isFirstThere && !await next);
                }
                catch (Exception)
                {
                    ended.SetResult(false);
                }
            },
        });

        int seen = 0;
        for (int i = 0; i < Rounds; i++)
        {
            reading = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            ended = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
            AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
            await call.RequestStream.WriteAsync(Payloads.Of("one")).Bounded();
            await reading.Task.Bounded();
            Task completing = call.RequestStream.CompleteAsync();
            call.Dispose();
            await Thrown.InAllAsync(() => completing);
            seen += await ended.Task.Bounded() ? 1 : 0;
        }

        // Grpc.Core's server takes every end of the stream for a half-close, even a cancellation.
        Assert.That(seen, Is.EqualTo(Rounds));
    }
}
