using Grpc.Testing;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>gRPC's interop cases of errors from the server.</summary>
[EveryRig]
internal sealed class StatusCaseTests(RigKind kind) : InteropFixture(kind)
{
    private const string SpecialMessage = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n";

    [Test]
    [Description("status_code_and_message")]
    public async Task StatusCodeAndMessage_OfAUnaryCall_AreThoseAskedFor()
    {
        TestService.TestServiceClient client = await StartClientAsync();
        var status = new EchoStatus { Code = (int)StatusCode.Unknown, Message = "test status message" };

        using AsyncUnaryCall<SimpleResponse> call =
            client.UnaryCallAsync(new SimpleRequest { ResponseStatus = status });
        RpcException failure = await FailureOf(call.ResponseAsync);

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Unknown, "test status message")));
        Assert.That(call.GetStatus().Plain(), Is.EqualTo(failure.Status.Plain()));
    }

    [Test]
    [Description("status_code_and_message")]
    public async Task StatusCodeAndMessage_OfADuplexCall_AreThoseAskedFor()
    {
        TestService.TestServiceClient client = await StartClientAsync();
        var status = new EchoStatus { Code = (int)StatusCode.Unknown, Message = "test status message" };

        using AsyncDuplexStreamingCall<StreamingOutputCallRequest, StreamingOutputCallResponse> call =
            client.FullDuplexCall();
        await call.RequestStream.WriteAsync(new StreamingOutputCallRequest { ResponseStatus = status }).Bounded();
        await call.RequestStream.CompleteAsync().Bounded();
        RpcException failure = await FailureOf(call.ResponseStream.ToListAsync());

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Unknown, "test status message")));
        Assert.That(call.GetStatus().Plain(), Is.EqualTo(failure.Status.Plain()));
    }

    [Test]
    [Description("special_status_message")]
    public async Task SpecialStatusMessage_ArrivesExactly()
    {
        TestService.TestServiceClient client = await StartClientAsync();
        var status = new EchoStatus { Code = (int)StatusCode.Unknown, Message = SpecialMessage };

        RpcException failure = await FailureOf(
            client.UnaryCallAsync(new SimpleRequest { ResponseStatus = status }).ResponseAsync);

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Unknown, SpecialMessage)));
    }

    [Test]
    [Description("unimplemented_method")]
    public async Task UnimplementedMethod_IsUnimplemented()
    {
        TestService.TestServiceClient client = await StartClientAsync();

        RpcException failure = await FailureOf(client.UnimplementedCallAsync(new Empty()).ResponseAsync);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
    }

    [Test]
    [Description("unimplemented_service")]
    public async Task UnimplementedService_IsUnimplemented()
    {
        CallRig rig = await StartAsync(null, TestService.BindService(new InteropTestService()));
        var client = new UnimplementedService.UnimplementedServiceClient(rig.Channel);

        RpcException failure = await FailureOf(client.UnimplementedCallAsync(new Empty()).ResponseAsync);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
    }
}
