using Grpc.Testing;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>
/// gRPC's interop cases of compression through the public API; <see cref="CompressionOnTheWireTests"/> counts bytes.
/// </summary>
[EveryRig]
internal sealed class CompressionCaseTests(RigKind kind) : InteropFixture(kind)
{
    private const int ProbeBytes = 27_182;
    private const int UncompressedBytes = 45_904;

    [Test]
    [Description("client_compressed_unary")]
    public async Task ClientCompressedUnary_IsAnsweredEitherWay()
    {
        TestService.TestServiceClient client = await StartClientAsync();

        foreach ((CallOptions options, BoolValue expected) in new[]
        {
            (Compression.Selected, Compression.Yes), (Compression.Suppressed, Compression.No),
        })
        {
            SimpleRequest request = LargeRequest;
            request.ExpectCompressed = expected;
            using AsyncUnaryCall<SimpleResponse> call = client.UnaryCallAsync(request, options);
            SimpleResponse response = await call.ResponseAsync.Bounded();

            Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
            AssertZeros(response.Payload, LargeResponseBytes);
        }
    }

    [Test]
    [Description("server_compressed_unary")]
    public async Task ServerCompressedUnary_IsAnsweredEitherWay()
    {
        TestService.TestServiceClient client = await StartClientAsync();

        foreach (BoolValue compressed in new[] { Compression.Yes, Compression.No })
        {
            SimpleRequest request = LargeRequest;
            request.ResponseCompressed = compressed;
            using AsyncUnaryCall<SimpleResponse> call = client.UnaryCallAsync(request);
            SimpleResponse response = await call.ResponseAsync.Bounded();

            Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
            AssertZeros(response.Payload, LargeResponseBytes);
        }
    }

    [Test]
    [Description("client_compressed_streaming")]
    public async Task ClientCompressedStreaming_SumsWhatWasSentEitherWay()
    {
        TestService.TestServiceClient client = await StartClientAsync();

        using AsyncClientStreamingCall<StreamingInputCallRequest, StreamingInputCallResponse> call =
            client.StreamingInputCall(Compression.Selected);
        await call.RequestStream.WriteAsync(StreamMessage(ProbeBytes, Compression.Yes)).Bounded();
        call.RequestStream.WriteOptions = new WriteOptions(WriteFlags.NoCompress);
        await call.RequestStream.WriteAsync(StreamMessage(UncompressedBytes, Compression.No)).Bounded();
        await call.RequestStream.CompleteAsync().Bounded();
        StreamingInputCallResponse response = await call.ResponseAsync.Bounded();

        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
        Assert.That(response.AggregatedPayloadSize, Is.EqualTo(73_086));
    }

    [Test]
    [Description("server_compressed_streaming")]
    public async Task ServerCompressedStreaming_AnswersInTheSizesAskedForEitherWay()
    {
        TestService.TestServiceClient client = await StartClientAsync();
        var request = new StreamingOutputCallRequest();
        request.ResponseParameters.Add(new ResponseParameters { Size = 31_415, Compressed = Compression.Yes });
        request.ResponseParameters.Add(new ResponseParameters { Size = 92_653, Compressed = Compression.No });

        using AsyncServerStreamingCall<StreamingOutputCallResponse> call = client.StreamingOutputCall(request);
        await AssertNextAsync(call.ResponseStream, 31_415);
        await AssertNextAsync(call.ResponseStream, 92_653);

        await AssertEndAsync(call.ResponseStream, call.GetStatus);
    }

    private static StreamingInputCallRequest StreamMessage(int bytes, BoolValue expected) => new()
    {
        Payload = InteropTestService.Zeros(bytes),
        ExpectCompressed = expected,
    };
}
