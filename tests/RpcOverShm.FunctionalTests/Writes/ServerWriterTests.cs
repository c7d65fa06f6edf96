namespace RpcOverShm.FunctionalTests.Writes;

[EveryRig]
internal sealed class ServerWriterTests(RigKind kind) : ItemFixture(kind)
{
    private const string IsComplete = "Can't write the message because the request is complete.";
    private const int FarMoreThanAnyWindow = 20_000_000;

    [Test]
    [Item("S10")]
    public async Task WriteOfNull_Throws()
    {
        Exception? exception = await InMethodAsync((responses, _) => responses.WriteAsync(null!));

        // Grpc.Core passes null to the marshaller, which throws.
        Assert.That(exception, IsDotNet ? Is.TypeOf<ArgumentNullException>() : Is.Not.Null);
    }

    [Test]
    [Item("S10")]
    public async Task WriteWhileAnotherIsUnderWay_ThrowsAndTheFirstGoesOn()
    {
        var second = new TaskCompletionSource<Exception?>();
        CallRig rig = await UseAsync(
            new Script
            {
                ServerStream = async (_, responses, _) =>
                {
                    Task first = responses.WriteAsync(Payloads.OfSize(FarMoreThanAnyWindow));
                    second.SetResult(await CatchAsync(() => responses.WriteAsync(Payloads.Empty)));
                    await first;
                    await responses.WriteAsync(Payloads.Of("third"));
                },
            },
            RigOptions.AnySize);

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Exception? exception = await second.Task.Bounded();
        List<Payload> responses = await call.ResponseStream.ToListAsync();

        Assert.That(exception, Is.TypeOf<InvalidOperationException>());
        Assert.That(exception!.Message, Is.EqualTo(IsDotNet
            ? "Can't write the message because the previous write is in progress."
            : "Only one write can be pending at a time"));
        Assert.That(
            responses.Select(response => response.Data.Length), Is.EqualTo(new[] { FarMoreThanAnyWindow, 5 }));
    }

    [Test]
    [Item("S10")]
    public async Task WriteAfterTheMethodHasReturned_Throws()
    {
        IServerStreamWriter<Payload>? kept = null;
        CallRig rig = await UseAsync(new Script
        {
            ServerStream = (_, responses, _) =>
            {
                kept = responses;
                return Task.CompletedTask;
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        await call.ResponseStream.ToListAsync();
        Exception? exception = await CatchAsync(() => kept!.WriteAsync(Payloads.Empty));

        Assert.That(exception, Is.TypeOf<InvalidOperationException>());
        Assert.That(exception!.Message, Is.EqualTo(IsDotNet
            ? IsComplete
            : "Response stream has already been completed."));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
    }

    [Test]
    [Item("S10")]
    public async Task WriteAfterTheAbort_Throws()
    {
        var written = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var result = new TaskCompletionSource<Exception?>();
        CallRig rig = await UseAsync(new Script
        {
            ServerStream = async (request, responses, context) =>
            {
                var fired = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                context.CancellationToken.Register(fired.SetResult);
                await responses.WriteAsync(request);
                written.SetResult();
                await fired.Task;
                result.SetResult(await CatchAsync(() => responses.WriteAsync(request)));
            },
        });

        AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        await written.Task.Bounded();
        call.Dispose();
        Exception? exception = await result.Task.Bounded();

        Assert.That(exception, Is.TypeOf<InvalidOperationException>());
        Assert.That(exception!.Message, Is.EqualTo(IsDotNet ? IsComplete : "Already finished."));
    }

    [Test]
    [Item("S10")]
    public async Task CancelDuringAWrite_MakesItThrow([Values] bool hasAskedForItsToken)
    {
        var began = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var result = new TaskCompletionSource<Exception?>();
        CallRig rig = await UseAsync(
            new Script
            {
                ServerStream = async (_, responses, context) =>
                {
                    Assert.That(!hasAskedForItsToken || context.CancellationToken.CanBeCanceled);
                    result.SetResult(await CatchAsync(() =>
                    {
                        Task write = responses.WriteAsync(Payloads.OfSize(FarMoreThanAnyWindow));
                        began.SetResult();
                        return write;
                    }));
                },
            },
            RigOptions.AnySize);

        AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        await began.Task.Bounded();
        call.Dispose();
        Exception? exception = await result.Task.Bounded();

        Assert.That(exception, IsDotNet ? Is.InstanceOf<OperationCanceledException>() : Is.TypeOf<IOException>());
    }

    [Test]
    [Item("S10")]
    public async Task WriteByAToken_AbortsTheCall([Values] bool isCancelledBefore)
    {
        var began = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var result = new TaskCompletionSource<Exception?>();
        using var cancellation = new CancellationTokenSource();
        CallRig rig = await UseAsync(
            new Script
            {
                ServerStream = async (_, responses, context) =>
                {
                    var fired = new TaskCompletionSource();
                    context.CancellationToken.Register(fired.SetResult);
                    if (isCancelledBefore)
                    {
                        await cancellation.CancelAsync();
                    }

                    Exception? thrown = await CatchAsync(() =>
                    {
                        Task write = responses.WriteAsync(Payloads.OfSize(FarMoreThanAnyWindow), cancellation.Token);
                        began.SetResult();
                        return write;
                    });
                    if (IsDotNet)
                    {
                        // The token may fire after the write has failed, so the method waits for both.
                        await fired.Task.Bounded();
                    }

                    result.SetResult(thrown);
                },
            },
            RigOptions.AnySize);

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Task end = IsDotNet ? began.Task : result.Task;
        await end.Bounded();
        await cancellation.CancelAsync();
        Exception? exception = await result.Task.Bounded();

        if (IsDotNet)
        {
            RpcException failure = await FailureOf(call.ResponseStream.ToListAsync());
            Assert.That(exception, Is.InstanceOf<OperationCanceledException>());
            StatusCode ofReset = IsGrpcDotNet ? StatusCode.Internal : StatusCode.Cancelled; // by Kestrel
            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled).Or.EqualTo(ofReset));
        }
        else
        {
            // Grpc.Core does not implement this overload; the interface's default method refuses cancellable tokens.
            Assert.That(exception, Is.TypeOf<NotSupportedException>());
            Assert.That(await call.ResponseStream.ToListAsync(), Is.Empty);
        }
    }

    // Grpc.Core completes a hinted write when it is sent, so awaiting the last one would never complete.
    [Test]
    [Item("S17")]
    public async Task HintedWrite_ArrivesWithTheEndOfTheCall()
    {
        CallRig rig = await UseAsync(new Script
        {
            ServerStream = (request, responses, context) =>
            {
                context.WriteOptions = new WriteOptions(WriteFlags.BufferHint);
                Task unawaited = responses.WriteAsync(request);
                return unawaited.IsFaulted ? unawaited : Task.CompletedTask;
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Of("hinted"));

        Assert.That((await call.ResponseStream.ToListAsync()).Single().Text(), Is.EqualTo("hinted"));
    }
}
