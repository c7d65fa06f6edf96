namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>Client marshallers that break the rules: each fails its own call only, in every shape.</summary>
[EveryRig]
internal sealed class ClientMarshallerTests(RigKind kind) : ItemFixture(kind)
{
    private static readonly byte[] s_message = [1, 2, 3, 4, 5];

    public static IEnumerable<TestCaseData> Serializers => LyingSerializers.OfTheOrder;

    public static IEnumerable<TestCaseData> WrongLengths => LyingSerializers.OfTheLength;

    [TestCaseSource(nameof(WrongLengths))]
    [NotOn(RigKind.GrpcDotNet, "It compares no announced length with what is written, and HttpClient wraps the rest.")]
    [Item("Z4")]
    public Task Serializer_ThatLiesAboutItsLength_IsInternal(
        Action<byte[], SerializationContext> serialize, Type here, Type? core) => Serializer(serialize, here, core);

    [TestCaseSource(nameof(Serializers))]
    [NotOn(RigKind.GrpcDotNet, "It compares no announced length with what is written, and HttpClient wraps the rest.")]
    [Item("Z2")]
    public async Task Serializer(Action<byte[], SerializationContext> serialize, Type here, Type? core)
    {
        CallRig rig = await UseAsync(null, BytesService.Build());

        foreach (MethodType shape in AnyCall.Shapes)
        {
            Exception? thrown = await Thrown.InAllAsync(
                () => CallAsync(rig, BytesService.Writing(shape, serialize)));
            AssertRefused(thrown, here, core, shape.ToString());
        }

        Exception? blocking = await Thrown.InAllAsync(() => Timeouts.OnThread(() => rig.Invoker.BlockingUnaryCall(
            BytesService.Writing(MethodType.Unary, serialize), null, default, s_message)));
        AssertRefused(blocking, here, core, "blocking");
    }

    [TestCase(MethodType.ClientStreaming)]
    [TestCase(MethodType.DuplexStreaming)]
    public async Task Serializer_ThatThrowsInMidStream_FailsTheWriteAndItsCall(MethodType shape)
    {
        CallRig rig = await UseAsync(null, BytesService.Build());
        Method<byte[], byte[]> method = BytesService.Writing(shape, static (message, context) =>
        {
            if (message.Length == 0)
            {
                throw new FormatException("no bytes for this");
            }

            context.Complete(message);
        });

        (AnyCall call, IClientStreamWriter<byte[]>? requests) = AnyCall.Start(rig.Invoker, method, s_message);
        await requests!.WriteAsync(s_message).Bounded();
        Exception? write = await Thrown.InAllAsync(() => requests.WriteAsync([]));

        if (IsShm)
        {
            // A part of the message may already be sent when its serialiser throws, so the call cannot go on.
            RpcException outcome = await FailureOf(call.Outcome);
            Assert.That(outcome.StatusCode, Is.EqualTo(StatusCode.Internal));
            Assert.That((write as RpcException)?.Status, Is.EqualTo(outcome.Status));
            Assert.That(outcome.Status.DebugException, Is.TypeOf<FormatException>());
        }
        else
        {
            // On the other rigs the exception escapes and the call goes on.
            Assert.That(write, Is.TypeOf<FormatException>());
            await requests.CompleteAsync().Bounded();
            await call.Outcome.Bounded();
        }
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C20")]
    public async Task Deserializer_ThatThrows_IsInternalWithTheReason(MethodType shape) =>
        await AssertUnreadableAsync(
            shape, static _ => throw new FormatException("not what was sent"), typeof(FormatException));

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [NotOn(RigKind.GrpcDotNet, "It gives the payload as often as it is asked for; here the bytes may be the peer's.")]
    [Item("Z5")]
    public async Task Deserializer_ThatTakesThePayloadTwice_IsInternal(MethodType shape) =>
        await AssertUnreadableAsync(
            shape,
            static context =>
            {
                context.PayloadAsReadOnlySequence();
                return context.PayloadAsNewBuffer();
            },
            typeof(InvalidOperationException));

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("Z5")]
    public async Task Deserializer_ThatTakesNothing_IsTakenAtItsWord(MethodType shape)
    {
        CallRig rig = await UseAsync(null, BytesService.Build());
        Method<byte[], byte[]> method = BytesService.Reading(shape, static _ => [9]);

        byte[]? response = await CallAsync(rig, method).Bounded();

        Assert.That(response, Is.EqualTo(new byte[] { 9 }));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C20")]
    public async Task Deserializer_ThatReturnsNull_IsInternal(MethodType shape)
    {
        CallRig rig = await UseAsync(null, BytesService.Build());
        Exception? thrown = await Thrown.InAllAsync(
            () => CallAsync(rig, BytesService.Reading(shape, static _ => null!)));

        // Grpc.Core passes the null on. grpc-dotnet takes it for a missing message, so a stream ends without a status.
        // Here a null in a stream fails as it does in a unary call.
        Assert.That(thrown, IsDotNet ? Is.TypeOf<RpcException>() : Is.Null);
        if (IsDotNet)
        {
            Assert.That(
                ((RpcException)thrown!).Status.Plain(),
                IsGrpcDotNet && shape is MethodType.ServerStreaming or MethodType.DuplexStreaming
                    ? Is.EqualTo(new Status(StatusCode.Cancelled, "No grpc-status found on response."))
                    : Is.EqualTo(new Status(StatusCode.Internal, "Failed to deserialize response message.")));
        }
    }

    private async Task AssertUnreadableAsync(
        MethodType shape, Func<DeserializationContext, byte[]> read, Type reason)
    {
        CallRig rig = await UseAsync(null, BytesService.Build());
        Task call = CallAsync(rig, BytesService.Reading(shape, read));
        bool isStream = shape is MethodType.ServerStreaming or MethodType.DuplexStreaming;
        if (!IsDotNet && isStream && await Thrown.InAllAsync(() => call) is null or TaskCanceledException)
        {
            // Grpc.Core cancels the call, which may have succeeded already or still be writing.
            return;
        }

        RpcException failure = await FailureOf(call);
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        if (IsDotNet)
        {
            // grpc-dotnet names another step, and for a single response says that the call could not start. This
            // library uses Grpc.Core's text.
            string step = IsShm ? "Failed to deserialize response message."
                : isStream ? "Error reading next message." : "Error starting gRPC call.";
            Exception exception = failure.Status.DebugException!;
            Assert.That(exception, Is.TypeOf(reason));
            Assert.That(failure.Status.Detail, Is.EqualTo($"{step} {reason.Name}: {exception.Message}"));
        }
        else
        {
            Assert.That(failure.Status.Detail, Does.StartWith("Failed to deserialize response message"));
        }
    }

    private void AssertRefused(Exception? thrown, Type here, Type? core, string shape)
    {
        if (!IsDotNet)
        {
            Assert.That(thrown?.GetType(), Is.EqualTo(core), shape);
            return;
        }

        Assert.That(thrown, Is.TypeOf<RpcException>(), shape);
        Status status = ((RpcException)thrown!).Status;
        Assert.That(status.StatusCode, Is.EqualTo(StatusCode.Internal), shape);
        Assert.That(status.DebugException, Is.TypeOf(here), shape);
        Assert.That(
            status.Detail,
            Is.EqualTo($"Error starting gRPC call. {here.Name}: {status.DebugException!.Message}"),
            shape);
    }

    /// <summary>Makes a call with one request and returns its response; fails as call or write do.</summary>
    private static Task<byte[]?> CallAsync(CallRig rig, Method<byte[], byte[]> method) =>
        AnyCall.CallAsync(rig.Invoker, method, s_message);
}
