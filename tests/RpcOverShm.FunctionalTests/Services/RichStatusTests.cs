using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using Google.Rpc;
using RpcStatus = Google.Rpc.Status;
using Status = Grpc.Core.Status;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>Errors with details (google.rpc.Status).</summary>
[EveryRig]
internal sealed class RichStatusTests(RigKind kind) : RigFixture(kind)
{
    private static RpcStatus Rich => new()
    {
        Code = (int)Code.FailedPrecondition,
        Message = "not now, später: \t\U0001F600",
        Details =
        {
            Any.Pack(new ErrorInfo { Reason = "BUSY", Domain = "tests", Metadata = { ["queue"] = "7" } }),
            Any.Pack(new RetryInfo { RetryDelay = Duration.FromTimeSpan(TimeSpan.FromMilliseconds(1500)) }),
            Any.Pack(Payloads.OfSize(3000)),
        },
    };

    [Test]
    public async Task Status_ThrownBeforeAnything_ArrivesWhole([Values] bool isBlocking)
    {
        CallRig rig = await StartAsync(new Script { Unary = (_, _) => throw Rich.ToRpcException() });

        RpcException failure = isBlocking
            ? await CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty))
            : await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.GetRpcStatus(), Is.EqualTo(Rich));
        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.FailedPrecondition, Rich.Message)));
        Assert.That(failure.GetRpcStatus()!.GetDetail<Payload>()!.IsOfSize(3000));
    }

    [Test]
    public async Task Status_ThrownAfterHeadersAndMessages_ArrivesWhole()
    {
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (request, responses, context) =>
            {
                await context.WriteResponseHeadersAsync([]);
                await responses.WriteAsync(request);
                throw Rich.ToRpcException();
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        RpcException failure = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));

        Assert.That(failure.GetRpcStatus(), Is.EqualTo(Rich));
        Assert.That(call.GetTrailers().GetRpcStatus(), Is.EqualTo(Rich));
    }

    [Test]
    public async Task Status_SetOnTheContextsTrailers_ArrivesWithSuccessToo()
    {
        CallRig rig = await StartAsync(new Script
        {
            Unary = (request, context) =>
            {
                context.ResponseTrailers.SetRpcStatus(Rich);
                return Task.FromResult(request);
            },
        });

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        await call.ResponseAsync.Bounded();

        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
        Assert.That(call.GetTrailers().GetRpcStatus(), Is.EqualTo(Rich));
    }

    [Test]
    public async Task Status_WithAnotherCodeThanTheCalls_KeepsBoth()
    {
        CallRig rig = await StartAsync(new Script
        {
            Unary = (_, _) => throw Rich.ToRpcException(StatusCode.Aborted, "for those without details"),
        });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(
            failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Aborted, "for those without details")));
        Assert.That(failure.GetRpcStatus()!.Code, Is.EqualTo((int)Code.FailedPrecondition));
    }

    [Test]
    public async Task Status_OfACodeThatGrpcDoesNotHave_IsUnknownAndKeepsItsOwn()
    {
        CallRig rig = await StartAsync(new Script
        {
            Unary = (_, _) => throw new RpcStatus { Code = 4711, Message = "of our own" }.ToRpcException(),
        });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Unknown, "of our own")));
        Assert.That(failure.GetRpcStatus()!.Code, Is.EqualTo(4711));
    }

    [Test]
    public async Task Failure_WithoutDetails_HasNone()
    {
        CallRig rig = await StartAsync(new Script
        {
            Unary = (_, _) => throw new RpcException(new Status(StatusCode.NotFound, "plain")),
        });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.GetRpcStatus(), Is.Null);
    }

    [Test]
    public async Task Trailer_ThatIsNoStatus_ArrivesAndIsAnErrorOnlyToItsReader()
    {
        byte[] malformed = [0x12, 0xFF, 0x00, 0x80];
        CallRig rig = await StartAsync(new Script
        {
            Unary = (_, _) => throw new RpcException(
                new Status(StatusCode.NotFound, "mangled"),
                new Metadata { { MetadataExtensions.StatusDetailsTrailerName, malformed } }),
        });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.NotFound, "mangled")));
        Assert.That(failure.Trailers.GetValueBytes(MetadataExtensions.StatusDetailsTrailerName), Is.EqualTo(malformed));
        Assert.That(() => failure.GetRpcStatus(), Throws.TypeOf<InvalidProtocolBufferException>());
        Assert.That(failure.Trailers.GetRpcStatus(ignoreParseError: true), Is.Null);
    }

    [Test]
    [NotOn(RigKind.GrpcDotNet, "An empty trailer does not arrive over Kestrel.")]
    public async Task Status_ThatIsEmpty_IsAStatus()
    {
        CallRig rig = await StartAsync(new Script
        {
            Unary = (_, _) => throw new RpcStatus().ToRpcException(StatusCode.DataLoss, ""),
        });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.DataLoss, "")));
        Assert.That(failure.GetRpcStatus(), Is.EqualTo(new RpcStatus()));
    }
}
