namespace RpcOverShm.FunctionalTests.Reads;

[EveryRig]
internal sealed class ServerReaderTests(RigKind kind) : ItemFixture(kind)
{
    private const string IsComplete = "Can't read messages after the request is complete.";

    [Test]
    [Item("S11")]
    public async Task ReadByItsToken_ThrowsAndTheCallLives([Values] bool isCancelledBefore)
    {
        var read = new TaskCompletionSource<Exception?>(TaskCreationOptions.RunContinuationsAsynchronously);
        CallRig rig = await UseAsync(new Script
        {
            ClientStream = async (requests, context) =>
            {
                using var cancellation = new CancellationTokenSource();
                if (isCancelledBefore)
                {
                    await cancellation.CancelAsync();
                }

                read.SetResult(await CatchAsync(async () =>
                {
                    Task<bool> first = requests.MoveNext(cancellation.Token);
                    await cancellation.CancelAsync();
                    await first;
                }));
                await requests.MoveNext(CancellationToken.None);
                return Payloads.Of($"{requests.Current.Text()} {context.CancellationToken.IsCancellationRequested}");
            },
        });

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        Exception? exception = await read.Task.Bounded();
        Exception? write = await CatchAsync(() => call.RequestStream.WriteAsync(Payloads.Of("after")));

        Assert.That(write, IsDotNet ? Is.Null : Is.Null.Or.InstanceOf<RpcException>());
        if (IsDotNet)
        {
            Assert.That(exception, Is.InstanceOf<OperationCanceledException>());
            Assert.That((await call.ResponseAsync.Bounded()).Text(), Is.EqualTo("after False"));
        }
        else
        {
            // Grpc.Core treats the token as the call's: the read reports the stream's end and the call is cancelled.
            Assert.That(exception, Is.Null.Or.InstanceOf<OperationCanceledException>());
            Assert.That((await FailureOf(call.ResponseAsync)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        }
    }

    [Test]
    [NotOn(RigKind.GrpcDotNet, "Both reads reach the pipe below, and the first one fails too.")]
    [Item("S11")]
    public async Task ReadWhileAnotherIsUnderWay_ThrowsAndTheFirstGoesOn()
    {
        var second = new TaskCompletionSource<Exception?>();
        CallRig rig = await UseAsync(new Script
        {
            ClientStream = async (requests, _) =>
            {
                Task<bool> first = requests.MoveNext(CancellationToken.None);
                second.SetResult(await CatchAsync(() => requests.MoveNext(CancellationToken.None)));
                return await first ? requests.Current : Payloads.Empty;
            },
        });

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        Exception? exception = await second.Task.Bounded();
        await call.RequestStream.WriteAsync(Payloads.Of("first")).Bounded();
        Payload response = await call.ResponseAsync.Bounded();

        Assert.That(exception, Is.TypeOf<InvalidOperationException>());
        Assert.That(exception!.Message, Is.EqualTo(IsDotNet
            ? "Can't read the next message because the previous read is still in progress."
            : "Only one read can be pending at a time"));
        Assert.That(response.Text(), Is.EqualTo("first"));
    }

    [Test]
    [Item("S11")]
    public async Task ReadAfterTheMethodHasReturned_Throws()
    {
        IAsyncStreamReader<Payload>? kept = null;
        CallRig rig = await UseAsync(new Script
        {
            ClientStream = (requests, _) =>
            {
                kept = requests;
                return Task.FromResult(Payloads.Empty);
            },
        });

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await call.ResponseAsync.Bounded();
        bool hasRead = true;
        Exception? exception = await CatchAsync(
            async () => hasRead = await kept!.MoveNext(CancellationToken.None));

        // Grpc.Core reports the end of the stream, as after a half-close.
        Assert.That(exception, IsDotNet ? Is.TypeOf<InvalidOperationException>() : Is.Null);
        Assert.That(exception?.Message, Is.EqualTo(IsDotNet ? IsComplete : null));
        Assert.That(hasRead, Is.EqualTo(IsDotNet));
    }

    [Test]
    [Item("S11")]
    public async Task ReadAfterTheAbort_Throws([Values] bool hasAskedForItsToken)
    {
        var aborted = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var began = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var result = new TaskCompletionSource<Exception?>();
        CallRig rig = await UseAsync(new Script
        {
            ClientStream = async (requests, context) =>
            {
                if (hasAskedForItsToken || !IsShm)
                {
                    context.CancellationToken.Register(aborted.SetResult);
                }

                began.SetResult();
                await aborted.Task;
                result.SetResult(await CatchAsync(() => requests.MoveNext(CancellationToken.None)));
                return Payloads.Empty;
            },
        });

        AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await began.Task.Bounded();
        call.Dispose();
        if (rig is ShmRig shm && !hasAskedForItsToken)
        {
            await Timeouts.Eventually(() => shm.OnlyConnection.IncomingCount == 0, "the server knows of the end");
            aborted.SetResult();
        }

        Exception? exception = await result.Task.Bounded();

        // Grpc.Core reports the end of the stream, as after a half-close.
        Assert.That(exception, IsDotNet ? Is.TypeOf<InvalidOperationException>() : Is.Null);
        Assert.That(exception?.Message, Is.EqualTo(IsDotNet ? IsComplete : null));
    }

    [Test]
    [Item("S11")]
    public async Task CancelDuringARead_MakesItThrow([Values] bool hasAskedForItsToken)
    {
        var began = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var result = new TaskCompletionSource<Exception?>();
        CallRig rig = await UseAsync(new Script
        {
            ClientStream = async (requests, context) =>
            {
                // The token fires independently; the read must not wait for it to learn the reason for its failure.
                _ = hasAskedForItsToken && context.CancellationToken.CanBeCanceled;
                result.SetResult(await CatchAsync(() =>
                {
                    Task<bool> read = requests.MoveNext(CancellationToken.None);
                    began.SetResult();
                    return read;
                }));
                return Payloads.Empty;
            },
        });

        AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await began.Task.Bounded();
        call.Dispose();
        Exception? exception = await result.Task.Bounded();

        // Grpc.Core returns false, as after a half-close. grpc-dotnet throws, as this library does, but an exception of
        // HTTP: "The client reset the request stream."
        Assert.That(exception, IsDotNet
            ? IsShm ? Is.InstanceOf<OperationCanceledException>() : Is.TypeOf<IOException>()
            : Is.Null);
    }

    [Test]
    [Item("S16")]
    public async Task RequestThatCannotBeRead_IsUnknown()
    {
        int handled = 0;
        CallRig rig = await UseAsync(Everywhere(_ =>
        {
            Interlocked.Increment(ref handled);
            return Task.CompletedTask;
        }));
        rig.Log.Expect(MethodThrew);
        byte[] noPayload = [0xFF, 0xFF, 0xFF];

        RpcException awaited = await FailureOf(
            rig.Invoker.AsyncUnaryCall(OfBytes(MethodType.Unary, "Unary"), null, default, noPayload).ResponseAsync);
        RpcException blocking = await CallFailure.OfBlocking(
            () => rig.Invoker.BlockingUnaryCall(OfBytes(MethodType.Unary, "Unary"), null, default, noPayload));
        RpcException stream = await FailureOf(rig.Invoker.AsyncServerStreamingCall(
            OfBytes(MethodType.ServerStreaming, "ServerStream"), null, default, noPayload)
            .ResponseStream.ToListAsync());

        Assert.That(
            new[] { awaited.StatusCode, blocking.StatusCode, stream.StatusCode }, Is.All.EqualTo(StatusCode.Unknown));
        Assert.That(handled, Is.Zero);
    }

    [Test]
    [Item("S16")]
    public async Task StreamedRequestThatCannotBeRead_FailsTheReadWithWhatTheMarshallerThrew()
    {
        var read = new TaskCompletionSource<Exception?>();
        CallRig rig = await UseAsync(new Script
        {
            ClientStream = async (requests, _) =>
            {
                read.SetResult(await CatchAsync(() => requests.MoveNext(CancellationToken.None)));
                throw (await read.Task)!;
            },
        });
        rig.Log.Expect(MethodThrew);

        using AsyncClientStreamingCall<byte[], Payload> call = rig.Invoker.AsyncClientStreamingCall(
            OfBytes(MethodType.ClientStreaming, "ClientStream"), null, default);
        await call.RequestStream.WriteAsync([0xFF, 0xFF, 0xFF]).Bounded();
        Exception? exception = await read.Task.Bounded();
        RpcException failure = await FailureOf(call.ResponseAsync);

        // Grpc.Core wraps the exception in an IOException: "Failed to deserialize request message."
        Assert.That(
            exception,
            IsDotNet ? Is.InstanceOf<Google.Protobuf.InvalidProtocolBufferException>() : Is.TypeOf<IOException>());
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unknown));
    }

    private static Method<byte[], Payload> OfBytes(MethodType type, string name) => new(
        type,
        Script.ServiceName,
        name,
        Marshallers.Create((byte[] message) => message, message => message),
        Script.UnaryMethod.ResponseMarshaller);
}
