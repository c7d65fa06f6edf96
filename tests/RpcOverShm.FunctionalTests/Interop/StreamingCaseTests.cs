using Grpc.Testing;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>gRPC's interop cases of streams that succeed.</summary>
[EveryRig]
internal sealed class StreamingCaseTests(RigKind kind) : InteropFixture(kind)
{
    [Test]
    [Description("client_streaming")]
    public async Task ClientStreaming_SumsWhatWasSent()
    {
        TestService.TestServiceClient client = await StartClientAsync();

        using AsyncClientStreamingCall<StreamingInputCallRequest, StreamingInputCallResponse> call =
            client.StreamingInputCall();
        foreach (int bytes in RequestSizes)
        {
            var request = new StreamingInputCallRequest { Payload = InteropTestService.Zeros(bytes) };
            await call.RequestStream.WriteAsync(request).Bounded();
        }

        await call.RequestStream.CompleteAsync().Bounded();
        StreamingInputCallResponse response = await call.ResponseAsync.Bounded();

        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
        Assert.That(response.AggregatedPayloadSize, Is.EqualTo(74_922));
    }

    [Test]
    [Description("server_streaming")]
    public async Task ServerStreaming_AnswersInTheSizesAndTheOrderAskedFor()
    {
        TestService.TestServiceClient client = await StartClientAsync();
        var request = new StreamingOutputCallRequest();
        request.ResponseParameters.Add(ResponseSizes.Select(bytes => new ResponseParameters { Size = bytes }));

        using AsyncServerStreamingCall<StreamingOutputCallResponse> call = client.StreamingOutputCall(request);
        foreach (int bytes in ResponseSizes)
        {
            await AssertNextAsync(call.ResponseStream, bytes);
        }

        await AssertEndAsync(call.ResponseStream, call.GetStatus);
    }

    [Test]
    [Description("ping_pong")]
    public async Task PingPong_AnswersEachBeforeTheNext()
    {
        TestService.TestServiceClient client = await StartClientAsync();

        using AsyncDuplexStreamingCall<StreamingOutputCallRequest, StreamingOutputCallResponse> call =
            client.FullDuplexCall();
        foreach ((int requestBytes, int responseBytes) in RequestSizes.Zip(ResponseSizes))
        {
            await call.RequestStream.WriteAsync(StreamRequest(requestBytes, responseBytes)).Bounded();
            await AssertNextAsync(call.ResponseStream, responseBytes);
        }

        await call.RequestStream.CompleteAsync().Bounded();
        await AssertEndAsync(call.ResponseStream, call.GetStatus);
    }

    [Test]
    [Description("empty_stream")]
    public async Task EmptyStream_IsAnsweredWithNone()
    {
        TestService.TestServiceClient client = await StartClientAsync();

        using AsyncDuplexStreamingCall<StreamingOutputCallRequest, StreamingOutputCallResponse> call =
            client.FullDuplexCall();
        await call.RequestStream.CompleteAsync().Bounded();

        await AssertEndAsync(call.ResponseStream, call.GetStatus);
    }
}
