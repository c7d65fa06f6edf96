using Grpc.Testing;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>gRPC's interop case of metadata, with one test per shape.</summary>
[EveryRig]
internal sealed class MetadataCaseTests(RigKind kind) : InteropFixture(kind)
{
    private const string InitialValue = "test_initial_metadata_value";

    private static readonly byte[] s_trailingValue = [0xAB, 0xAB, 0xAB];

    private static Metadata Headers => new()
    {
        { InteropTestService.EchoInitialKey, InitialValue },
        { InteropTestService.EchoTrailingKey, s_trailingValue },
    };

    [Test]
    [Description("custom_metadata")]
    public async Task CustomMetadata_OfAUnaryCall_ComesBackBothWays()
    {
        TestService.TestServiceClient client = await StartClientAsync();

        using AsyncUnaryCall<SimpleResponse> call = client.UnaryCallAsync(LargeRequest, Headers);
        SimpleResponse response = await call.ResponseAsync.Bounded();

        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
        AssertZeros(response.Payload, LargeResponseBytes);
        AssertEchoed(await call.ResponseHeadersAsync.Bounded(), call.GetTrailers());
    }

    [Test]
    [Description("custom_metadata")]
    public async Task CustomMetadata_OfADuplexCall_ComesBackBothWays()
    {
        TestService.TestServiceClient client = await StartClientAsync();

        using AsyncDuplexStreamingCall<StreamingOutputCallRequest, StreamingOutputCallResponse> call =
            client.FullDuplexCall(Headers);
        await call.RequestStream.WriteAsync(StreamRequest(LargeRequestBytes, LargeResponseBytes)).Bounded();
        await call.RequestStream.CompleteAsync().Bounded();
        await AssertNextAsync(call.ResponseStream, LargeResponseBytes);
        await AssertEndAsync(call.ResponseStream, call.GetStatus);

        AssertEchoed(await call.ResponseHeadersAsync.Bounded(), call.GetTrailers());
    }

    // Each entry returns in the block that the case names, and only there.
    private static void AssertEchoed(Metadata headers, Metadata trailers)
    {
        Assert.That(
            headers.GetAll(InteropTestService.EchoInitialKey).Select(entry => entry.Value),
            Is.EqualTo(new[] { InitialValue }));
        Assert.That(
            trailers.GetAll(InteropTestService.EchoTrailingKey).Select(entry => entry.ValueBytes),
            Is.EqualTo(new[] { s_trailingValue }));
        Assert.That(headers.Get(InteropTestService.EchoTrailingKey), Is.Null);
        Assert.That(trailers.Get(InteropTestService.EchoInitialKey), Is.Null);
    }
}
