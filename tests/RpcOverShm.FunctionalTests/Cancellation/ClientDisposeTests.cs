namespace RpcOverShm.FunctionalTests.Cancellation;

/// <summary>Dispose of unfinished and finished calls.</summary>
[EveryRig]
internal sealed class ClientDisposeTests(RigKind kind) : RigFixture(kind)
{
    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C5")]
    public async Task DisposeOfUnfinishedCall_CancelsItOnBothSides(MethodType shape)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);

        AnyCall call = AnyCall.Start(rig.Invoker, shape);
        await held.Began.Bounded();
        call.Dispose();
        RpcException failure = await FailureOf(call.Outcome);
        await held.Cancelled.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(call.Status.StatusCode, Is.EqualTo(StatusCode.Cancelled));

        // Grpc.Core returns empty trailers.
        Assert.That(() => call.Trailers, IsDotNet ? Throws.InvalidOperationException : Is.Empty);
    }

    [Test]
    [Item("C5")]
    public async Task DisposeOfUnfinishedCall_FailsReadAndWriteThatArePending()
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script, RigOptions.AnySize);

        AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        await held.Began.Bounded();
        Task<bool> read = call.ResponseStream.MoveNext(CancellationToken.None);
        Task write = call.RequestStream.WriteAsync(Payloads.OfSize(20_000_000));
        Task<Metadata> headers = call.ResponseHeadersAsync;
        Assert.That(read.IsCompleted || write.IsCompleted || headers.IsCompleted, Is.False);
        call.Dispose();

        Assert.That((await FailureOf(read)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That((await FailureOf(write)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    [Item("C5")]
    public async Task DisposeOfUnfinishedCall_FailsResponseAndWriteThatArePending()
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script, RigOptions.AnySize);

        AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await held.Began.Bounded();
        Task write = call.RequestStream.WriteAsync(Payloads.OfSize(20_000_000));
        Assert.That(call.ResponseAsync.IsCompleted || write.IsCompleted, Is.False);
        call.Dispose();

        Assert.That((await FailureOf(call.ResponseAsync)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That((await FailureOf(write)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C5")]
    public async Task DisposeOfFinishedCall_ChangesNothing(MethodType shape)
    {
        CallRig rig = await StartAsync(new Script());

        (AnyCall call, IClientStreamWriter<Payload>? requests) = AnyCall.Start(
            rig.Invoker, AnyCall.MethodOf(shape), Payloads.Of("x"));
        if (requests is not null)
        {
            await requests.CompleteAsync().Bounded();
        }

        await call.Outcome.Bounded();
        call.Dispose();
        call.Dispose();

        Assert.That(call.Outcome.IsCompletedSuccessfully);
        Assert.That(call.Status, Is.EqualTo(Status.DefaultSuccess));
        Assert.That(call.Trailers, Is.Empty);
        Assert.That(await call.Headers.Bounded(), Is.Not.Null);
    }

    [Test]
    [Item("C5")]
    public async Task DisposeOfFailedCall_ChangesNothing()
    {
        CallRig rig = await StartAsync(new Script
        {
            Unary = (_, _) => throw new RpcException(
                new Status(StatusCode.NotFound, "nothing"), new Metadata { { "why", "because" } }),
        });

        AnyCall call = AnyCall.Start(rig.Invoker, MethodType.Unary);
        await FailureOf(call.Outcome);
        call.Dispose();

        Assert.That(call.Status.Plain(), Is.EqualTo(new Status(StatusCode.NotFound, "nothing")));
        Assert.That(call.Trailers.GetValue("why"), Is.EqualTo("because"));
    }

    [Test]
    [Item("C5")]
    public async Task MoveNextAfterDispose_ThrowsItself([Values] bool isDuplex)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);
        IAsyncStreamReader<Payload> responses = await StartAndDisposeAsync(rig, held, isDuplex);

        Exception? thrown = Thrown.By(() => responses.MoveNext(CancellationToken.None));

        // Grpc.Core still reads; its task fails with the call's status.
        Assert.That(thrown, IsDotNet ? Is.TypeOf<ObjectDisposedException>() : Is.Null);
        if (!IsDotNet)
        {
            RpcException failure = await FailureOf(responses.MoveNext(CancellationToken.None));
            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        }
    }

    [Test]
    [Item("C5")]
    public async Task CompleteAsyncAfterDispose_ThrowsItself_AndWriteAsyncFailsItsTask()
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);
        AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await held.Began.Bounded();
        call.Dispose();
        await FailureOf(call.ResponseAsync);

        Exception? thrown = Thrown.By(call.RequestStream.CompleteAsync);
        Exception? failure = await Thrown.ThroughTaskAsync(() => call.RequestStream.WriteAsync(Payloads.Empty));

        // Grpc.Core reports success for the completion and cancels the task of the write.
        Assert.That(thrown, IsDotNet ? Is.TypeOf<ObjectDisposedException>() : Is.Null);
        Assert.That(failure, IsDotNet ? Is.TypeOf<ObjectDisposedException>() : Is.TypeOf<TaskCanceledException>());
    }

    [Test]
    [NotOn(RigKind.GrpcCore, "It tells how the call has ended, or does as if it were done.")]
    [Item("C5")]
    public async Task DisposeOfFinishedStreams_StillEndsTheirUse([Values] bool isRetried)
    {
        RigRetries? retries = isRetried ? new RigRetries(MaxAttempts: 2, StatusCode.Unavailable) : null;
        var script = new Script { Duplex = (_, _, _) => Task.CompletedTask };
        CallRig rig = await StartAsync(script, new RigOptions { Retries = retries });
        AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded(), Is.False);

        call.Dispose();

        Func<Task>[] uses =
        [
            () => call.ResponseStream.MoveNext(CancellationToken.None),
            () => call.RequestStream.WriteAsync(Payloads.Empty),
            call.RequestStream.CompleteAsync,
        ];
        foreach (Func<Task> use in uses)
        {
            Assert.That(await Thrown.InAllAsync(use), Is.TypeOf<ObjectDisposedException>());
        }

        Assert.That(call.GetStatus(), Is.EqualTo(Status.DefaultSuccess));
    }

    private static async Task<IAsyncStreamReader<Payload>> StartAndDisposeAsync(
        CallRig rig, HeldMethods held, bool isDuplex)
    {
        IAsyncStreamReader<Payload> responses;
        IDisposable call;
        if (isDuplex)
        {
            AsyncDuplexStreamingCall<Payload, Payload> duplex = rig.Client.Duplex();
            (call, responses) = (duplex, duplex.ResponseStream);
        }
        else
        {
            AsyncServerStreamingCall<Payload> stream = rig.Client.ServerStream(Payloads.Empty);
            (call, responses) = (stream, stream.ResponseStream);
        }

        await held.Began.Bounded();
        Task<bool> pending = responses.MoveNext(CancellationToken.None);
        call.Dispose();
        await FailureOf(pending);
        return responses;
    }
}
