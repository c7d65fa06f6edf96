using RpcOverShm.FunctionalTests.Codecs;

namespace RpcOverShm.FunctionalTests.CallShapes;

[EveryRig]
internal sealed class ClientStartTests(RigKind kind) : RigFixture(kind)
{
    private static CallOptions Expired => new(deadline: DateTime.MinValue);

    private static CallOptions Cancelled => new(cancellationToken: new CancellationToken(canceled: true));

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C1")]
    public async Task InvokingMethod_ReturnsBeforeTheServerHasAnswered(MethodType shape)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);

        // The method is held until Start has returned.
        using AnyCall call = AnyCall.Start(rig.Invoker, shape);
        Assert.That(call.Outcome.IsCompleted, Is.False);
        held.Release();

        await call.Outcome.Bounded();
    }

    [Test]
    [Item("C1")]
    public async Task NullForAMethod_ThrowsFromTheInvokingMethod()
    {
        CallRig rig = await StartAsync(new Script());
        Method<Payload, Payload> none = null!;

        Exception?[] thrown =
        [
            Thrown.By(() => rig.Invoker.AsyncUnaryCall(none, null, default, Payloads.Empty).ResponseAsync),
            Thrown.By(() => rig.Invoker.AsyncServerStreamingCall(none, null, default, Payloads.Empty)
                .ResponseHeadersAsync),
            Thrown.By(() => rig.Invoker.AsyncClientStreamingCall(none, null, default).ResponseAsync),
            Thrown.By(() => rig.Invoker.AsyncDuplexStreamingCall(none, null, default).ResponseHeadersAsync),
            Thrown.By(() => Task.FromResult(rig.Invoker.BlockingUnaryCall(none, null, default, Payloads.Empty))),
        ];

        // The other rigs throw a NullReferenceException.
        Assert.That(thrown, Is.All.TypeOf(IsShm ? typeof(ArgumentNullException) : typeof(NullReferenceException)));
    }

    [TestCase(MethodType.Unary)]
    [TestCase(MethodType.ServerStreaming)]
    [Item("C1")]
    public async Task RequestThatCannotBeSerialised_FailsTheTasksWithInternal(MethodType shape)
    {
        CallRig rig = await StartAsync(null, BytesService.Build());
        Action<byte[], SerializationContext> serialize = (_, _) => throw new FormatException("no bytes for this");
        Method<byte[], byte[]> broken = BytesService.Writing(shape, serialize);

        AnyCall? call = null;
        Exception? thrown = Thrown.By(() => (call = AnyCall.Start(rig.Invoker, broken, [1]).Call).Outcome);
        Method<byte[], byte[]> unary = BytesService.Writing(MethodType.Unary, serialize);
        Exception? blocking = await Thrown.InAllAsync(
            () => Timeouts.OnThread(() => rig.Invoker.BlockingUnaryCall(unary, null, default, [1])));

        if (IsDotNet)
        {
            RpcException failure = await FailureOf(call!.Outcome);
            Assert.That(thrown, Is.Null);
            Assert.That((blocking as RpcException)?.StatusCode, Is.EqualTo(StatusCode.Internal));
            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
            Assert.That(
                failure.Status.Detail, Is.EqualTo("Error starting gRPC call. FormatException: no bytes for this"));
            Assert.That(failure.Status.DebugException, Is.TypeOf<FormatException>());
        }
        else
        {
            // Grpc.Core serialises before it creates the call, and lets the exception escape.
            Assert.That(new[] { thrown, blocking }, Is.All.TypeOf<FormatException>());
        }

        await AnyCall.Start(rig.Invoker, BytesService.Method(shape), [1]).Call.Outcome.Bounded();
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C2")]
    public async Task DeadlineInThePast_IsDeadlineExceededWithoutTheServer(MethodType shape)
    {
        var held = new HeldMethods();
        held.Release();
        CallRig rig = await StartAsync(held.Script);
        var past = new CallOptions(deadline: DateTime.UtcNow.AddSeconds(-1));

        RpcException min = await FailureOf(AnyCall.Start(rig.Invoker, shape, Expired).Outcome);
        RpcException before = await FailureOf(AnyCall.Start(rig.Invoker, shape, past).Outcome);
        RpcException blockingMin = await CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty, Expired));
        RpcException blocking = await CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty, past));
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        Assert.That(
            new[] { min, before, blockingMin, blocking }.Select(failure => failure.StatusCode),
            Is.All.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(held.Begun, Is.EqualTo(1), "No method ran but the last call's.");
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C1")]
    [Item("C9")]
    public async Task Headers_OfACallThatFailsBeforeAnyResponse_FailAsItDoes(MethodType shape)
    {
        CallRig rig = await StartAsync(new Script());
        AnyCall expired = AnyCall.Start(rig.Invoker, shape, Expired);
        AnyCall cancelled = AnyCall.Start(rig.Invoker, shape, Cancelled);
        await rig.KillServerAsync().Bounded();
        AnyCall unavailable = AnyCall.Start(rig.Invoker, shape);

        await AssertHeadersFailAsync(expired, StatusCode.DeadlineExceeded);
        await AssertHeadersFailAsync(cancelled, StatusCode.Cancelled);
        await AssertHeadersFailAsync(unavailable, StatusCode.Unavailable);
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C9")]
    public async Task Headers_ThatWereAwaitedBeforeTheFailure_FailAsTheCallDoes(MethodType shape)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);
        using var cancellation = new CancellationTokenSource();

        using AnyCall call = AnyCall.Start(
            rig.Invoker, shape, new CallOptions(cancellationToken: cancellation.Token));
        Task<Metadata> headers = call.Headers;
        await held.Began.Bounded();
        Assert.That(headers.IsCompleted, Is.False);
        await cancellation.CancelAsync();
        RpcException failure = await FailureOf(call.Outcome);
        Exception? exception = await Thrown.InAllAsync(() => headers);

        // Grpc.Core completes the headers, empty.
        Assert.That((exception as RpcException)?.Status, Is.EqualTo(IsDotNet ? failure.Status : default(Status?)));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C1")]
    [Item("C14")]
    public async Task NobodyThere_IsUnavailableWithTheReason(MethodType shape)
    {
        CallRig rig = await StartAsync(new Script());
        await rig.KillServerAsync().Bounded();

        (AnyCall call, IClientStreamWriter<Payload>? requests) = AnyCall.Start(
            rig.Invoker, AnyCall.MethodOf(shape), Payloads.Empty);
        RpcException failure = await FailureOf(call.Outcome);

        AssertCouldNotStart(failure.Status);
        AssertCouldNotStart(call.Status);
        AssertCouldNotStart((await CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty))).Status);

        // Grpc.Core returns empty trailers.
        Assert.That(() => call.Trailers, IsDotNet ? Throws.InvalidOperationException : Is.Empty);
        if (requests is not null)
        {
            AssertCouldNotStart((await FailureOf(requests.WriteAsync(Payloads.Empty))).Status);
        }
    }

    private void AssertCouldNotStart(Status status)
    {
        Assert.That(status.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(status.DebugException, Is.Not.Null);
        Assert.That(
            status.Detail,
            IsShm
                ? Does.StartWith("Error starting gRPC call. No server listens at '")
                : IsDotNet
                ? Does.StartWith(
                    $"Error starting gRPC call. {status.DebugException!.GetType().Name}: "
                    + status.DebugException.Message)
                : Is.EqualTo("failed to connect to all addresses"));
    }

    private async Task AssertHeadersFailAsync(AnyCall call, StatusCode code)
    {
        RpcException failure = await FailureOf(call.Outcome);
        Exception? headers = await Thrown.InAllAsync(() => call.Headers);

        // Grpc.Core completes the headers, empty.
        Assert.That(failure.StatusCode, Is.EqualTo(code));
        Assert.That((headers as RpcException)?.Status, Is.EqualTo(IsDotNet ? failure.Status : default(Status?)));
    }
}
