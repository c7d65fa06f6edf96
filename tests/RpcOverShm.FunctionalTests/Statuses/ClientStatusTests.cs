using RpcOverShm.FunctionalTests.Codecs;

namespace RpcOverShm.FunctionalTests.Statuses;

/// <summary>A call's status and trailers: their availability and contents.</summary>
[EveryRig]
internal sealed class ClientStatusTests(RigKind kind) : RigFixture(kind)
{
    private const int Rounds = 100;

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C7")]
    public async Task StatusAndTrailers_BeforeTheEnd_Throw(MethodType shape)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);

        using AnyCall call = AnyCall.Start(rig.Invoker, shape);
        await held.Began.Bounded();

        Assert.That(() => call.Status, Throws.InvalidOperationException);
        Assert.That(() => call.Trailers, Throws.InvalidOperationException);
        held.Release();
        await call.Outcome.Bounded();
        Assert.That(call.Status.StatusCode, Is.EqualTo(StatusCode.OK));
        Assert.That(call.Trailers, Is.Empty);
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C7")]
    public async Task Trailers_AfterALocalFailure_Throw(MethodType shape)
    {
        CallRig rig = await StartAsync(new Script());

        AnyCall call = AnyCall.Start(rig.Invoker, shape, new CallOptions(deadline: DateTime.MinValue));
        await FailureOf(call.Outcome);

        // Grpc.Core returns empty trailers.
        Assert.That(call.Status.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(() => call.Trailers, IsDotNet ? Throws.InvalidOperationException : Is.Empty);
    }

    [Test]
    [Item("C7")]
    public async Task ResponseThatCompletes_HasItsStatusAndTrailersThen([Values] bool isFailing)
    {
        CallRig rig = await StartAsync(new Script { Unary = (request, context) => EndAsync(request, context) });

        for (int i = 0; i < Rounds; i++)
        {
            using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Of(isFailing ? "fail" : ""));
            (Status Status, string? Trailer) seen = await LookWhenEndedAsync(
                call.ResponseAsync, call.GetStatus, call.GetTrailers);
            AssertEnd(seen, isFailing);
        }
    }

    [Test]
    [Item("C7")]
    public async Task ReadThatEndsTheStream_HasItsStatusAndTrailersThen([Values] bool isFailing)
    {
        CallRig rig = await StartAsync(
            new Script { ServerStream = (request, _, context) => EndAsync(request, context) });

        for (int i = 0; i < Rounds; i++)
        {
            using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(
                Payloads.Of(isFailing ? "fail" : ""));
            (Status Status, string? Trailer) seen = await LookWhenEndedAsync(
                call.ResponseStream.MoveNext(CancellationToken.None), call.GetStatus, call.GetTrailers);
            AssertEnd(seen, isFailing);
        }
    }

    [Test]
    [Item("C8")]
    public async Task TrailersOfAStream_AppearWhenItWasReadToItsEnd([Values] bool isFailing)
    {
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (request, responses, context) =>
            {
                await responses.WriteAsync(request);
                await responses.WriteAsync(request);
                await EndAsync(request, context);
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Of(isFailing ? "fail" : ""));
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        // Grpc.Core exposes both as soon as they have arrived.
        if (rig is ShmRig shm)
        {
            // The server has sent the end, and a later response has arrived: so has the end.
            await Timeouts.Eventually(() => shm.OnlyConnection.IncomingCount == 0);
            await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
            Assert.That(() => call.GetStatus(), Throws.InvalidOperationException);
            Assert.That(() => call.GetTrailers(), Throws.InvalidOperationException);
        }

        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        if (IsDotNet)
        {
            Assert.That(() => call.GetStatus(), Throws.InvalidOperationException);
            Assert.That(() => call.GetTrailers(), Throws.InvalidOperationException);
        }

        await Thrown.InAllAsync(() => call.ResponseStream.MoveNext(CancellationToken.None));
        AssertEnd((call.GetStatus(), call.GetTrailers().GetValue("trailer")), isFailing);
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C15")]
    public async Task ServerLostDuringTheCall_IsUnavailable(MethodType shape)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);

        AnyCall call = AnyCall.Start(rig.Invoker, shape);
        Task<RpcException> blocking = CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty));
        await Timeouts.Eventually(() => held.Begun == 2, "both methods have begun");
        await rig.KillServerAsync().Bounded();
        RpcException failure = await FailureOf(call.Outcome);
        Status status = call.Status;

        // Of the others see ServerStopTests; PeerCrashTests covers the death of a process.
        Assert.That(
            new[] { failure.StatusCode, (await blocking).StatusCode },
            IsShm
                ? Is.All.EqualTo(StatusCode.Unavailable)
                : Is.All.AnyOf(StatusCode.Unavailable, StatusCode.Cancelled, StatusCode.Internal));
        Assert.That(status.StatusCode, Is.EqualTo(failure.StatusCode));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [NotOn(RigKind.GrpcDotNet, "It takes Protobuf's exception, an IOException, for a lost connection: Unavailable.")]
    [Item("C20")]
    public async Task ResponseThatCannotBeParsed_IsInternal(MethodType shape)
    {
        CallRig rig = await StartAsync(null, BytesService.Build());
        Method<byte[], Payload> misread = new(
            shape,
            BytesService.Method(shape).ServiceName,
            shape.ToString(),
            BytesService.Plain,
            Marshallers.Create((Payload _) => [], Payload.Parser.ParseFrom));

        // No field begins with these bytes. The exception derives from IOException, which must not become Unavailable.
        Task call = AnyCall.CallAsync(rig.Invoker, misread, [0xFF, 0xFF, 0xFF]);
        bool isStream = shape is MethodType.ServerStreaming or MethodType.DuplexStreaming;
        if (!IsDotNet && isStream && await Thrown.InAllAsync(() => call) is null or TaskCanceledException)
        {
            // Grpc.Core cancels the call, which may have succeeded already or still be writing.
            return;
        }

        RpcException failure = await FailureOf(call);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(failure.Status.Detail, Does.StartWith("Failed to deserialize response message"));
        if (IsDotNet)
        {
            Assert.That(
                failure.Status.DebugException, Is.TypeOf<Google.Protobuf.InvalidProtocolBufferException>());
        }

        await AnyCall.Start(rig.Invoker, BytesService.Method(MethodType.Unary), [1]).Call.Outcome.Bounded();
    }

    [Test]
    [Item("C23")]
    public async Task StreamThatEndsWithOkAndWithoutAMessage_IsReadAsFalse([Values] bool isDuplex)
    {
        CallRig rig = await StartAsync(
            new Script { ServerStream = (_, _, _) => Task.CompletedTask, Duplex = (_, _, _) => Task.CompletedTask });
        AsyncServerStreamingCall<Payload>? stream = isDuplex ? null : rig.Client.ServerStream(Payloads.Empty);
        AsyncDuplexStreamingCall<Payload, Payload>? duplex = isDuplex ? rig.Client.Duplex() : null;
        IAsyncStreamReader<Payload> responses = stream?.ResponseStream ?? duplex!.ResponseStream;

        Assert.That(await responses.MoveNext(CancellationToken.None).Bounded(), Is.False);
        Assert.That(stream?.GetStatus() ?? duplex!.GetStatus(), Is.EqualTo(Status.DefaultSuccess));
        Assert.That(stream?.GetTrailers() ?? duplex!.GetTrailers(), Is.Empty);
        Assert.That(await (stream?.ResponseHeadersAsync ?? duplex!.ResponseHeadersAsync).Bounded(), Is.Empty);
    }

    private static async Task<Payload> EndAsync(Payload request, ServerCallContext context)
    {
        // Usually after the client has asked for the status.
        await Task.Delay(1);
        context.ResponseTrailers.Add("trailer", "there");
        return request.Text() == "fail" ? throw new RpcException(new Status(StatusCode.Aborted, "told to")) : request;
    }

    /// <summary>Reads status and trailer synchronously with the completion of the task.</summary>
    private static Task<(Status Status, string? Trailer)> LookWhenEndedAsync(
        Task task, Func<Status> status, Func<Metadata> trailers) => task.ContinueWith(
            _ => (status(), trailers().GetValue("trailer")),
            CancellationToken.None,
            TaskContinuationOptions.ExecuteSynchronously,
            TaskScheduler.Default).Bounded();

    private static void AssertEnd((Status Status, string? Trailer) seen, bool isFailing)
    {
        Assert.That(seen.Status.StatusCode, Is.EqualTo(isFailing ? StatusCode.Aborted : StatusCode.OK));
        Assert.That(seen.Trailer, Is.EqualTo("there"));
    }
}
