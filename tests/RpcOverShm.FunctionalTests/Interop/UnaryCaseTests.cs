using Grpc.Testing;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>gRPC's interop cases of unary calls that succeed, each both blocking and awaited.</summary>
[EveryRig]
internal sealed class UnaryCaseTests(RigKind kind) : InteropFixture(kind)
{
    [Test]
    [Description("empty_unary")]
    public async Task EmptyUnary_IsAnswered()
    {
        TestService.TestServiceClient client = await StartClientAsync();

        using AsyncUnaryCall<Empty> call = client.EmptyCallAsync(new Empty());
        Empty awaited = await call.ResponseAsync.Bounded();
        Empty blocking = await Timeouts.OnThread(() => client.EmptyCall(new Empty())).Bounded();

        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
        Assert.That(awaited, Is.EqualTo(new Empty()));
        Assert.That(blocking, Is.EqualTo(new Empty()));
    }

    [Test]
    [Description("large_unary")]
    public async Task LargeUnary_IsAnsweredInTheSizeItAskedFor()
    {
        TestService.TestServiceClient client = await StartClientAsync();

        using AsyncUnaryCall<SimpleResponse> call = client.UnaryCallAsync(LargeRequest);
        SimpleResponse awaited = await call.ResponseAsync.Bounded();
        SimpleResponse blocking = await Timeouts.OnThread(() => client.UnaryCall(LargeRequest)).Bounded();

        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
        AssertZeros(awaited.Payload, LargeResponseBytes);
        AssertZeros(blocking.Payload, LargeResponseBytes);
    }
}
