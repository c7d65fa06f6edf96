using Grpc.Core;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.FunctionalTests;

/// <summary>Limits on the size of messages: what is over one costs its call, and nothing else.</summary>
[EveryRig]
internal sealed class LimitTests(RigKind kind) : RigFixture(kind)
{
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
    }

    [Test]
    public async Task Request_OverTheClientsSendLimit_IsResourceExhausted([Values] bool isBlocking)
    {
        await UseAsync(new RigOptions { ClientMaxSend = 1000 });

        RpcException failure = await UnaryFailureAsync(2000, isBlocking);

        AssertExhausted(failure, "Sending message exceeds the maximum configured message size.");
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

    private async Task UseAsync(RigOptions options)
    {
        _rig = await StartAsync(new Script(), options);
        _rig.Log.Expect(MethodThrew);
    }

    private Task<RpcException> UnaryFailureAsync(int bytes, bool isBlocking) => isBlocking
        ? CallFailure.OfBlocking(() => _rig!.Client.Unary(Payloads.OfSize(bytes)))
        : FailureOf(_rig!.Client.UnaryAsync(Payloads.OfSize(bytes)));

    // The texts are grpc-dotnet's; Grpc.Core says the same in other words, with both sizes.
    private void AssertExhausted(RpcException failure, string detail)
    {
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        if (IsDotNet)
        {
            Assert.That(failure.Status.Detail, Is.EqualTo(detail));
        }
    }
}
