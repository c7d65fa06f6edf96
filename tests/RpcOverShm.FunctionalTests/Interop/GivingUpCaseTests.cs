using Grpc.Testing;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>gRPC's interop cases of cancellation and deadlines.</summary>
[EveryRig]
internal sealed class GivingUpCaseTests(RigKind kind) : InteropFixture(kind)
{
    [Test]
    [Description("cancel_after_begin")]
    public async Task CancelAfterBegin_IsCancelled()
    {
        TestService.TestServiceClient client = await StartClientAsync();
        using var cancellation = new CancellationTokenSource();

        using AsyncClientStreamingCall<StreamingInputCallRequest, StreamingInputCallResponse> call =
            client.StreamingInputCall(cancellationToken: cancellation.Token);
        await cancellation.CancelAsync();
        RpcException failure = await FailureOf(call.ResponseAsync);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    [Description("cancel_after_first_response")]
    public async Task CancelAfterFirstResponse_IsCancelled()
    {
        TestService.TestServiceClient client = await StartClientAsync();
        using var cancellation = new CancellationTokenSource();

        using AsyncDuplexStreamingCall<StreamingOutputCallRequest, StreamingOutputCallResponse> call =
            client.FullDuplexCall(cancellationToken: cancellation.Token);
        await call.RequestStream.WriteAsync(StreamRequest(RequestSizes[0], ResponseSizes[0])).Bounded();
        await AssertNextAsync(call.ResponseStream, ResponseSizes[0]);
        await cancellation.CancelAsync();
        RpcException failure = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    [Description("timeout_on_sleeping_server")]
    public async Task TimeoutOnSleepingServer_IsDeadlineExceeded()
    {
        TestService.TestServiceClient client = await StartClientAsync();
        var request = new StreamingOutputCallRequest { Payload = InteropTestService.Zeros(RequestSizes[0]) };

        // The request asks for no response, so the server waits for the next request, which never comes.
        using AsyncDuplexStreamingCall<StreamingOutputCallRequest, StreamingOutputCallResponse> call =
            client.FullDuplexCall(deadline: DateTime.UtcNow.AddMilliseconds(1));
        StatusCode written = await WriteAsync(call.RequestStream, request);
        RpcException failure = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));

        Assert.That(written, Is.AnyOf(StatusCode.OK, StatusCode.DeadlineExceeded));
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    // The deadline may pass before or during the write.
    private static async Task<StatusCode> WriteAsync(
        IClientStreamWriter<StreamingOutputCallRequest> requests, StreamingOutputCallRequest request)
    {
        try
        {
            await requests.WriteAsync(request).Bounded();
            return StatusCode.OK;
        }
        catch (RpcException exception)
        {
            return exception.StatusCode;
        }
    }
}
