namespace RpcOverShm.FunctionalTests.Limits;

/// <summary>Limits on message sizes: a message over a limit fails its own call only.</summary>
[EveryRig]
internal sealed class LimitTests(RigKind kind) : RigFixture(kind)
{
    private const int MessageTooLarge = 202;
    private const int MethodThrew = 301;

    private CallRig? _rig;

    [TearDown]
    public async Task CallStillWorksAsync()
    {
        if (_rig is { } rig)
        {
            Payload response = await rig.Client.UnaryAsync(Payloads.Of("still")).ResponseAsync.Bounded();
            Assert.That(response.Text(), Is.EqualTo("still"));
        }

        _rig = null;
    }

    [Test]
    public async Task Response_OverTheClientsReceiveLimit_IsResourceExhausted(
        [Values(2000, 100_000, 2_000_000)] int bytes, [Values] bool isBlocking)
    {
        await UseAsync(new RigOptions { ClientMaxReceive = 1000 });

        RpcException failure = await UnaryFailureAsync(bytes, isBlocking);

        AssertExhausted(failure, "Received message exceeds the maximum configured message size.");
        await AssertLoggedAsync("MaxReceiveMessageSize", "client");
    }

    [Test]
    public async Task Message_OverAServersLimit_IsLoggedWithItsSize([Values] bool isRequest)
    {
        await UseAsync(
            isRequest ? new RigOptions { ServerMaxReceive = 1000 } : new RigOptions { ServerMaxSend = 1000 });

        await UnaryFailureAsync(100_000, isBlocking: false);

        await AssertLoggedAsync(isRequest ? "MaxReceiveMessageSize" : "MaxSendMessageSize", "server");
    }

    [Test]
    public async Task Request_OverTheClientsSendLimit_IsResourceExhausted([Values] bool isBlocking)
    {
        await UseAsync(new RigOptions { ClientMaxSend = 1000 });

        RpcException failure = await UnaryFailureAsync(2000, isBlocking);

        AssertExhausted(failure, "Sending message exceeds the maximum configured message size.");
        await AssertLoggedAsync("MaxSendMessageSize", "client");
    }

    [Test]
    public async Task StreamedResponse_OverTheClientsLimit_EndsTheCall()
    {
        await UseAsync(new RigOptions { ClientMaxReceive = 10_000 });

        using AsyncDuplexStreamingCall<Payload, Payload> call = _rig!.Client.Duplex();
        await call.RequestStream.WriteAsync(Payloads.OfSize(100)).Bounded();
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        await call.RequestStream.WriteAsync(Payloads.OfSize(20_000)).Bounded();
        RpcException failure = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));

        AssertExhausted(failure, "Received message exceeds the maximum configured message size.");
    }

    [Test]
    [NotOn(RigKind.GrpcDotNet, "The write fails, and the call goes on; here a part of the message may be on its way.")]
    public async Task StreamedRequest_OverTheClientsSendLimit_EndsTheCall()
    {
        await UseAsync(new RigOptions { ClientMaxSend = 1000 });

        using AsyncClientStreamingCall<Payload, Payload> call = _rig!.Client.ClientStream();
        await FailureOf(call.RequestStream.WriteAsync(Payloads.OfSize(2000)));
        RpcException failure = await FailureOf(call.ResponseAsync);

        AssertExhausted(failure, "Sending message exceeds the maximum configured message size.");
    }

    private async Task AssertLoggedAsync(string option, string side)
    {
        if (IsShm)
        {
            Assert.That((await _rig!.Log.WaitForAsync(MessageTooLarge)).Message, Does.Match(
                "^/[^ ]+/Unary: a message of [0-9]{4,7} bytes exceeds the 1000 bytes that "
                + $"{option} of the {side} allows.$"));
        }
    }

    private async Task UseAsync(RigOptions options)
    {
        _rig = await StartAsync(new Script(), options);
        _rig.Log.Expect(MethodThrew);
    }

    private Task<RpcException> UnaryFailureAsync(int bytes, bool isBlocking) => isBlocking
        ? CallFailure.OfBlocking(() => _rig!.Client.Unary(Payloads.OfSize(bytes)))
        : FailureOf(_rig!.Client.UnaryAsync(Payloads.OfSize(bytes)));

    // The texts are grpc-dotnet's; Grpc.Core's differ and contain both sizes.
    private void AssertExhausted(RpcException failure, string detail)
    {
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        if (IsDotNet)
        {
            Assert.That(failure.Status.Detail, Is.EqualTo(detail));
        }
    }
}
