using Grpc.Testing;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>
/// gRPC's interop cases of compression, including their probes: the number of bytes on the wire shows which messages
/// were compressed.
/// </summary>
[EveryRig]
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class CompressionOnTheWireTests(RigKind kind) : InteropFixture(kind)
{
    // The framing of a call's messages, padding at the end of a ring, and the messages themselves if compressed: they
    // contain zeros only.
    private const int MostOverhead = 20_000;

    private readonly SemaphoreSlim _asked = new(0);

    private long _requestBytesBefore;

    private static BoolValue Yes => new() { Value = true };

    private static BoolValue No => new() { Value = false };

    private static CallOptions Selected => new(new Metadata { { InteropTestService.SelectCompressionKey, "gzip" } });

    // Selects compression, but suppresses it for the messages.
    private static CallOptions Suppressed => Selected.WithWriteOptions(new WriteOptions(WriteFlags.NoCompress));

    [Test]
    [Description("client_compressed_unary")]
    public async Task ClientCompressedUnary_CompressesWhatItSays()
    {
        await using MeteredRig rig = await StartMeteredAsync();
        var client = new TestService.TestServiceClient(rig.Channel);

        // The probe: the service expects compression, which is missing.
        SimpleRequest probe = LargeRequest;
        probe.ExpectCompressed = Yes;
        RpcException refusal = await FailureOf(client.UnaryCallAsync(probe, Suppressed).ResponseAsync);
        long compressed = await CallAsync(Selected, Yes);
        long uncompressed = await CallAsync(Suppressed, No);

        Assert.That(refusal.StatusCode, Is.EqualTo(StatusCode.InvalidArgument));
        Assert.That(compressed, Is.LessThan(MostOverhead));
        Assert.That(uncompressed, Is.GreaterThan(LargeRequestBytes));

        async Task<long> CallAsync(CallOptions options, BoolValue expected)
        {
            long before = rig.RequestBytes;
            SimpleRequest request = LargeRequest;
            request.ExpectCompressed = expected;
            SimpleResponse response = await client.UnaryCallAsync(request, options).ResponseAsync.Bounded();
            AssertZeros(response.Payload, LargeResponseBytes);
            return rig.RequestBytes - before;
        }
    }

    [Test]
    [Description("server_compressed_unary")]
    public async Task ServerCompressedUnary_CompressesWhatItIsAskedTo()
    {
        await using MeteredRig rig = await StartMeteredAsync();
        var client = new TestService.TestServiceClient(rig.Channel);

        long compressed = await CallAsync(Yes);
        long uncompressed = await CallAsync(No);

        Assert.That(compressed, Is.LessThan(MostOverhead));
        Assert.That(uncompressed, Is.GreaterThan(LargeResponseBytes));

        async Task<long> CallAsync(BoolValue isAskedTo)
        {
            long before = rig.ResponseBytes;
            SimpleRequest request = LargeRequest;
            request.ResponseCompressed = isAskedTo;
            SimpleResponse response = await client.UnaryCallAsync(request).ResponseAsync.Bounded();
            AssertZeros(response.Payload, LargeResponseBytes);
            return rig.ResponseBytes - before;
        }
    }

    [Test]
    [Description("client_compressed_streaming")]
    public async Task ClientCompressedStreaming_CompressesMessageByMessage()
    {
        await using MeteredRig rig = await StartMeteredAsync();
        var client = new TestService.TestServiceClient(rig.Channel);

        RpcException refusal = await ProbeAsync(client);
        long before = rig.RequestBytes;
        using AsyncClientStreamingCall<StreamingInputCallRequest, StreamingInputCallResponse> call =
            client.StreamingInputCall(Selected);
        await call.RequestStream.WriteAsync(StreamMessage(27_182, Yes)).Bounded();

        // The service counts the bytes since the last message, so the next message waits until it has done so.
        await _asked.WaitAsync().Bounded();
        call.RequestStream.WriteOptions = new WriteOptions(WriteFlags.NoCompress);
        await call.RequestStream.WriteAsync(StreamMessage(45_904, No)).Bounded();
        await call.RequestStream.CompleteAsync().Bounded();
        StreamingInputCallResponse response = await call.ResponseAsync.Bounded();

        Assert.That(refusal.StatusCode, Is.EqualTo(StatusCode.InvalidArgument));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
        Assert.That(response.AggregatedPayloadSize, Is.EqualTo(73_086));

        // All of the second message, next to nothing of the compressed first one.
        Assert.That(rig.RequestBytes - before, Is.InRange(45_904, 45_904 + MostOverhead));
    }

    [Test]
    [Description("server_compressed_streaming")]
    public async Task ServerCompressedStreaming_CompressesMessageByMessage()
    {
        await using MeteredRig rig = await StartMeteredAsync();
        var client = new TestService.TestServiceClient(rig.Channel);
        var request = new StreamingOutputCallRequest();
        request.ResponseParameters.Add(new ResponseParameters { Size = 31_415, Compressed = Yes });
        request.ResponseParameters.Add(new ResponseParameters { Size = 92_653, Compressed = No });

        long before = rig.ResponseBytes;
        using AsyncServerStreamingCall<StreamingOutputCallResponse> call = client.StreamingOutputCall(request);
        await AssertNextAsync(call.ResponseStream, 31_415);
        await AssertNextAsync(call.ResponseStream, 92_653);
        await AssertEndAsync(call.ResponseStream, call.GetStatus);

        // All of the second message, next to nothing of the compressed first one.
        Assert.That(rig.ResponseBytes - before, Is.InRange(92_653, 92_653 + MostOverhead));
    }

    [Test]
    public async Task SelectionOfCompression_IsNotSentOn()
    {
        Metadata? requestHeaders = null;
        var service = new InteropTestService
        {
            IsLastRequestCompressed = context =>
            {
                requestHeaders = context.RequestHeaders;
                return null;
            },
        };
        TestService.TestServiceClient client = await StartClientAsync(service);
        SimpleRequest request = LargeRequest;
        request.ExpectCompressed = Yes;
        request.ResponseCompressed = Yes;

        using AsyncUnaryCall<SimpleResponse> call = client.UnaryCallAsync(request, Selected);
        await call.ResponseAsync.Bounded();
        Metadata responseHeaders = await call.ResponseHeadersAsync.Bounded();

        Assert.That(requestHeaders!.Get(InteropTestService.SelectCompressionKey), Is.Null);
        Assert.That(responseHeaders.Get(InteropTestService.SelectCompressionKey), Is.Null);
    }

    private static StreamingInputCallRequest StreamMessage(int bytes, BoolValue expected) => new()
    {
        Payload = InteropTestService.Zeros(bytes),
        ExpectCompressed = expected,
    };

    // The service expects compression, which is missing.
    private async Task<RpcException> ProbeAsync(TestService.TestServiceClient client)
    {
        using AsyncClientStreamingCall<StreamingInputCallRequest, StreamingInputCallResponse> call =
            client.StreamingInputCall(Suppressed);
        await call.RequestStream.WriteAsync(StreamMessage(27_182, Yes)).Bounded();
        RpcException refusal = await FailureOf(call.ResponseAsync);
        await _asked.WaitAsync().Bounded();
        return refusal;
    }

    private async Task<MeteredRig> StartMeteredAsync()
    {
        MeteredRig? rig = null;
        var service = new InteropTestService
        {
            IsLastRequestCompressed = _ =>
            {
                long bytes = rig!.RequestBytes;
                bool isCompressed = bytes - _requestBytesBefore < MostOverhead;
                _requestBytesBefore = bytes;
                _asked.Release();
                return isCompressed;
            },
        };
        rig = await MeteredRig.StartAsync(Kind, TestService.BindService(service));

        // Keeps the bytes of connecting out of the count.
        await new TestService.TestServiceClient(rig.Channel).EmptyCallAsync(new Empty()).ResponseAsync.Bounded();
        _requestBytesBefore = rig.RequestBytes;
        return rig;
    }
}
