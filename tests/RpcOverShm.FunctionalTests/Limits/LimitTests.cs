using RpcOverShm.Diagnostics;

namespace RpcOverShm.FunctionalTests.Limits;

/// <summary>Limits on message sizes: a message over a limit fails its own call only.</summary>
[EveryRig]
internal sealed class LimitTests(RigKind kind) : ItemFixture(kind)
{
    private const int MessageTooLarge = 202;
    private const string ReceiveOption = "MaxReceiveMessageSize";
    private const string SendOption = "MaxSendMessageSize";

    [Test]
    public async Task Response_OverTheClientsReceiveLimit_IsResourceExhausted(
        [Values(2000, 100_000, 2_000_000)] int bytes, [Values] bool isBlocking)
    {
        long before = LimitEvents.CountOf(ReceiveOption);
        CallRig rig = await UseAsync(new RigOptions { ClientMaxReceive = 1000 });

        RpcException failure = await UnaryFailureAsync(rig, bytes, isBlocking);

        AssertExhausted(failure, isReceived: true);
        await AssertReportedAsync(rig, ReceiveOption, "client", before);
    }

    [Test]
    public async Task Message_OverAServersLimit_IsLoggedWithItsSize([Values] bool isRequest)
    {
        string option = isRequest ? ReceiveOption : SendOption;
        long before = LimitEvents.CountOf(option);
        CallRig rig = await UseAsync(
            isRequest ? new RigOptions { ServerMaxReceive = 1000 } : new RigOptions { ServerMaxSend = 1000 });

        await UnaryFailureAsync(rig, 100_000, isBlocking: false);

        await AssertReportedAsync(rig, option, "server", before);
    }

    [Test]
    public async Task Request_OverTheClientsSendLimit_IsResourceExhausted([Values] bool isBlocking)
    {
        long before = LimitEvents.CountOf(SendOption);
        CallRig rig = await UseAsync(new RigOptions { ClientMaxSend = 1000 });

        RpcException failure = await UnaryFailureAsync(rig, 2000, isBlocking);

        AssertExhausted(failure, isReceived: false);
        await AssertReportedAsync(rig, SendOption, "client", before);
    }

    [Test]
    public async Task StreamedResponse_OverTheClientsLimit_EndsTheCall()
    {
        CallRig rig = await UseAsync(new RigOptions { ClientMaxReceive = 10_000 });

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        await call.RequestStream.WriteAsync(Payloads.OfSize(100)).Bounded();
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        await call.RequestStream.WriteAsync(Payloads.OfSize(20_000)).Bounded();
        RpcException failure = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));

        AssertExhausted(failure, isReceived: true);
    }

    [Test]
    [NotOn(RigKind.GrpcDotNet, "The write fails, and the call goes on; here a part of the message may be on its way.")]
    public async Task StreamedRequest_OverTheClientsSendLimit_EndsTheCall()
    {
        CallRig rig = await UseAsync(new RigOptions { ClientMaxSend = 1000 });

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await FailureOf(call.RequestStream.WriteAsync(Payloads.OfSize(2000)));
        RpcException failure = await FailureOf(call.ResponseAsync);

        AssertExhausted(failure, isReceived: false);
    }

    private async Task AssertReportedAsync(CallRig rig, string option, string side, long countBefore)
    {
        if (IsShm)
        {
            Assert.That((await rig.Log.WaitForAsync(MessageTooLarge)).Message, Does.Match(
                "^/[^ ]+/Unary: a message of [0-9]{4,7} bytes exceeds the 1000 bytes that "
                + $"{option} of the {side} allows.$"));
            Assert.That(LimitEvents.CountOf(option), Is.EqualTo(countBefore + 1));
        }
    }

    private async Task<CallRig> UseAsync(RigOptions options)
    {
        CallRig rig = await UseAsync(new Script(), options);
        rig.Log.Expect(MethodThrew);
        return rig;
    }

    private static Task<RpcException> UnaryFailureAsync(CallRig rig, int bytes, bool isBlocking) => isBlocking
        ? CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.OfSize(bytes)))
        : FailureOf(rig.Client.UnaryAsync(Payloads.OfSize(bytes)));

    // The texts are grpc-dotnet's, with both sizes and the option here; Grpc.Core's differ and contain both sizes.
    private void AssertExhausted(RpcException failure, bool isReceived)
    {
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        if (IsDotNet)
        {
            Assert.That(failure.Status.Detail, Does.Match(
                $"^{(isReceived ? "Received" : "Sending")} message exceeds the maximum configured message size[.]"
                + (IsShm
                    ? " The message has [0-9]{4,7} bytes; "
                        + $"{(isReceived ? ReceiveOption : SendOption)} of the client allows 10*[.] Raise it there, "
                    : "$")));
        }
    }
}
