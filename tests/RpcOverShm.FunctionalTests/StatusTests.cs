using Grpc.Core;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.FunctionalTests;

/// <summary>How calls end that do not end well, as every gRPC has it.</summary>
[TestFixture(RigKind.Shm)]
[TestFixture(RigKind.GrpcCore)]
internal sealed class StatusTests(RigKind kind) : RigFixture(kind)
{
    private const int MethodThrew = 301;

    public static IEnumerable<StatusCode> Failures => Enum.GetValues<StatusCode>().Where(code => code != StatusCode.OK);

    [TestCaseSource(nameof(Failures))]
    public async Task RpcException_OfAnyCode_ArrivesWithDetailAndTrailers(StatusCode code)
    {
        CallRig rig = await StartAsync(null, ConformanceContract.BindService(new ConformanceService()));
        var request = new FailRequest { StatusCode = (int)code, Detail = "what went wrong" };
        request.Trailers.Add(new MetadataEntry { Key = "reason", Text = "tested" });
        request.Trailers.Add(new MetadataEntry
        {
            Key = "grpc-status-details-bin",
            Binary = Google.Protobuf.ByteString.CopyFrom(1, 2, 3),
        });

        RpcException awaited = await FailureOf(rig.Conformance.FailAsync(request));
        RpcException blocking = await CallFailure.OfBlocking(() => rig.Conformance.Fail(request));

        foreach (RpcException failure in new[] { awaited, blocking })
        {
            Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(code, "what went wrong")));
            Assert.That(failure.Trailers.GetValue("reason"), Is.EqualTo("tested"));
            Assert.That(failure.Trailers.GetValueBytes("grpc-status-details-bin"), Is.EqualTo(new byte[] { 1, 2, 3 }));
        }
    }

    [TestCase("")]
    [TestCase("plain")]
    [TestCase("\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n")]
    public async Task Detail_OfAnyText_ArrivesExactly(string detail)
    {
        CallRig rig = await StartAsync(
            new Script { Unary = (_, _) => throw new RpcException(new Status(StatusCode.Unknown, detail)) });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.Status.Detail, Is.EqualTo(detail));
    }

    [Test]
    public async Task PlainException_IsUnknown_AndTheServerLives()
    {
        CallRig rig = await StartAsync(null, ConformanceContract.BindService(new ConformanceService()));
        rig.Log.Expect(MethodThrew);

        RpcException failure = await FailureOf(rig.Conformance.ThrowAsync(Payloads.Of("secret")));
        Payload next = await rig.Conformance.EchoAsync(Payloads.Of("alive")).ResponseAsync.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unknown));
        Assert.That(failure.Status.Detail, Does.Not.Contain("secret"));
        Assert.That(next.Text(), Is.EqualTo("alive"));
    }

    [Test]
    public async Task PlainException_ThrownBeforeATaskWasMade_IsUnknownToo()
    {
        CallRig rig = await StartAsync(new Script { Unary = (_, _) => throw new InvalidOperationException("at once") });
        rig.Log.Expect(MethodThrew);

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unknown));
    }

    [Test]
    public async Task Exception_InEveryStreamingShape_IsUnknown()
    {
        CallRig rig = await StartAsync(new Script
        {
            ClientStream = (_, _) => throw new InvalidOperationException(),
            ServerStream = (_, _, _) => throw new InvalidOperationException(),
            Duplex = (_, _, _) => throw new InvalidOperationException(),
        });
        rig.Log.Expect(MethodThrew);

        RpcException clientStream = await FailureOf(rig.Client.ClientStream().ResponseAsync);
        RpcException serverStream = await FailureOf(
            rig.Client.ServerStream(Payloads.Empty).ResponseStream.ReadAllAsync());
        RpcException duplex = await FailureOf(rig.Client.Duplex().ResponseStream.ReadAllAsync());

        Assert.That(
            new[] { clientStream.StatusCode, serverStream.StatusCode, duplex.StatusCode },
            Is.All.EqualTo(StatusCode.Unknown));
    }

    [Test]
    public async Task Method_Unknown_IsUnimplemented()
    {
        CallRig rig = await StartAsync(new Script());
        Method<Payload, Payload> unknown = Script.Define(MethodType.Unary, "NoSuchMethod");

        RpcException failure = await FailureOf(rig.Invoker.AsyncUnaryCall(unknown, null, default, Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
    }

    [Test]
    public async Task Service_Unknown_IsUnimplemented()
    {
        CallRig rig = await StartAsync(new Script());

        RpcException unary = await FailureOf(rig.Conformance.EchoAsync(Payloads.Empty));
        RpcException stream = await FailureOf(rig.Conformance.EchoAll().ResponseStream.ReadAllAsync());

        Assert.That(unary.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
        Assert.That(stream.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
    }

    [Test]
    public async Task Method_NotOverridden_IsUnimplementedWithoutDetail()
    {
        CallRig rig = await StartAsync(null, ConformanceContract.BindService(new ConformanceService()));

        RpcException failure = await FailureOf(rig.Conformance.NotOverriddenAsync(Payloads.Empty));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Unimplemented, "")));
    }

    [Test]
    public async Task ContextStatus_NotOk_WinsOverTheResponse()
    {
        CallRig rig = await StartAsync(new Script
        {
            Unary = (request, context) =>
            {
                context.Status = new Status(StatusCode.FailedPrecondition, "set");
                context.ResponseTrailers.Add("trailer", "too");
                return Task.FromResult(request);
            },
        });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Of("unread")));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.FailedPrecondition, "set")));
        Assert.That(failure.Trailers.GetValue("trailer"), Is.EqualTo("too"));
    }

    [Test]
    public async Task ContextStatus_NotOk_EndsAStreamWithIt()
    {
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (request, responses, context) =>
            {
                await responses.WriteAsync(request);
                context.Status = new Status(StatusCode.ResourceExhausted, "that was all");
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        RpcException failure = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.ResourceExhausted, "that was all")));
    }

    [Test]
    public async Task ContextStatus_OkWithDetail_IsSuccess()
    {
        CallRig rig = await StartAsync(new Script
        {
            Unary = (request, context) =>
            {
                context.Status = new Status(StatusCode.OK, "fine");
                return Task.FromResult(request);
            },
        });

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Of("x"));

        Assert.That((await call.ResponseAsync.Bounded()).Text(), Is.EqualTo("x"));
        Assert.That(call.GetStatus().Plain(), Is.EqualTo(new Status(StatusCode.OK, "fine")));
    }

    [Test]
    public async Task Failures_OfManyCalls_LeaveTheConnectionInOrder()
    {
        CallRig rig = await StartAsync(null, ConformanceContract.BindService(new ConformanceService()));

        for (int i = 0; i < 300; i++)
        {
            await FailureOf(rig.Conformance.FailAsync(new FailRequest { StatusCode = (i % 16) + 1, Detail = "no" }));
        }

        Assert.That(
            (await rig.Conformance.EchoAsync(Payloads.Of("yes")).ResponseAsync.Bounded()).Text(), Is.EqualTo("yes"));
    }
}
