using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.OverTheWire;

public class UnaryTests
{
    private static readonly UnaryServerMethod<string, string> s_echo =
        (request, _) => Task.FromResult("echo " + request);

    [Test]
    public async Task AsyncCall_Answered_ReturnsResponse()
    {
        await using var rig = Rig(s_echo);

        Assert.That(await Call(rig).Bounded(), Is.EqualTo("echo request"));
    }

    [Test]
    public async Task BlockingCall_Answered_ReturnsResponse()
    {
        await using var rig = Rig(s_echo);

        var response = await Task.Run(() =>
            rig.Invoker.BlockingUnaryCall(TestMethods.Unary, null, new CallOptions(), "Größe")).Bounded();

        Assert.That(response, Is.EqualTo("echo Größe"));
    }

    [Test]
    public async Task BlockingCall_Failed_ThrowsRpcExceptionUnwrapped()
    {
        await using var rig = Rig((_, _) => throw new RpcException(new Status(StatusCode.NotFound, "gone")));

        var failure = await BoundedTasks.FailureOf(Task.Run(() =>
            rig.Invoker.BlockingUnaryCall(TestMethods.Unary, null, new CallOptions(), "request")));

        Assert.That(failure.Status.Detail, Is.EqualTo("gone"));
    }

    [Test]
    public async Task Call_OverUnixSocket_IsAnswered()
    {
        var path = Path.Combine(Path.GetTempPath(), Guid.NewGuid().ToString("N"));
        await using var rig = GrpcCoreRig.StartOnUnixSocket(
            builder => builder.AddMethod(TestMethods.Unary, s_echo), path);

        Assert.That(await Call(rig).Bounded(), Is.EqualTo("echo request"));
    }

    [Test]
    public async Task Call_WithHeaders_ReachesServerWithThem()
    {
        Metadata? received = null;
        await using var rig = Rig((request, context) =>
        {
            received = context.RequestHeaders;
            return s_echo(request, context);
        });
        Metadata headers =
        [
            new("text", "one"), new("text", "two"), new("empty", ""),
            new("some-bin", [0, 1, 255]), new("none-bin", []),
        ];

        await Call(rig, new CallOptions(headers)).Bounded();

        Assert.That(received!.GetAll("text").Select(entry => entry.Value), Is.EqualTo(["one", "two"]));
        Assert.That(received!.GetValue("empty"), Is.EqualTo(""));
        Assert.That(received!.GetValueBytes("some-bin"), Is.EqualTo(new byte[] { 0, 1, 255 }));
        Assert.That(received!.Get("none-bin")!.IsBinary);
        Assert.That(received!.GetValueBytes("none-bin"), Is.Empty);
    }

    [Test]
    public async Task Call_Answered_BringsHeadersAndTrailers()
    {
        await using var rig = Rig(async (request, context) =>
        {
            await context.WriteResponseHeadersAsync([new("header", "1")]);
            context.ResponseTrailers.Add("trailer-bin", [2]);
            return request;
        });
        using var call = Call(rig);

        var headers = await call.ResponseHeadersAsync.Bounded();
        await call.Bounded();

        Assert.That(headers.GetValue("header"), Is.EqualTo("1"));
        Assert.That(call.GetTrailers().GetValueBytes("trailer-bin"), Is.EqualTo(new byte[] { 2 }));
        Assert.That(call.GetStatus(), Is.EqualTo(Status.DefaultSuccess));
    }

    [Test]
    public async Task Call_HandlerSetsStatus_FailsWithItAndTrailers()
    {
        await using var rig = Rig((request, context) =>
        {
            context.Status = new Status(StatusCode.FailedPrecondition, "not yet");
            context.ResponseTrailers.Add("trailer", "1");
            return Task.FromResult(request);
        });

        var failure = await BoundedTasks.FailureOf(Call(rig).ResponseAsync);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.FailedPrecondition));
        Assert.That(failure.Status.Detail, Is.EqualTo("not yet"));
        Assert.That(failure.Trailers.GetValue("trailer"), Is.EqualTo("1"));
        Assert.That(failure.Message, Does.StartWith("Status(StatusCode=\"FailedPrecondition\", Detail=\"not yet\""));
    }

    [Test]
    public async Task Call_HandlerThrowsRpcException_FailsWithItsStatusAndTrailers()
    {
        await using var rig = Rig((_, _) => throw new RpcException(
            new Status(StatusCode.ResourceExhausted, "enough"), [new("trailer", "1")]));

        var failure = await BoundedTasks.FailureOf(Call(rig).ResponseAsync);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(failure.Status.Detail, Is.EqualTo("enough"));
        Assert.That(failure.Trailers.GetValue("trailer"), Is.EqualTo("1"));
    }

    [Test]
    public async Task Call_HandlerThrowsAnythingElse_FailsAsUnknown()
    {
        await using var rig = Rig((_, _) => throw new InvalidOperationException("secret"));

        var failure = await BoundedTasks.FailureOf(Call(rig).ResponseAsync);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unknown));
        Assert.That(failure.Status.Detail, Is.EqualTo("Exception was thrown by handler."));
        Assert.That(failure.Trailers, Is.Empty);
    }

    [Test]
    public async Task Call_UnknownMethod_FailsAsUnimplemented()
    {
        await using var rig = GrpcCoreRig.Start(_ => { });

        var failure = await BoundedTasks.FailureOf(Call(rig).ResponseAsync);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
    }

    [Test]
    public async Task GetStatus_BeforeTheEnd_ThrowsInvalidOperation()
    {
        var answer = new TaskCompletionSource<string>();
        await using var rig = Rig((_, _) => answer.Task);
        using var call = Call(rig);

        Assert.That(() => call.GetStatus(), Throws.InvalidOperationException);
        Assert.That(call.GetTrailers, Throws.InvalidOperationException);

        answer.SetResult("late");
        Assert.That(await call.Bounded(), Is.EqualTo("late"));
    }

    [Test]
    public async Task Context_OnServer_TellsOfTheCall()
    {
        // Peer and authentication are asked of the C core, which knows them only while the call lasts.
        var seen = (Method: "", Peer: "", Authenticated: true, Deadline: DateTime.MinValue);
        await using var rig = Rig((request, context) =>
        {
            seen = (context.Method, context.Peer, context.AuthContext.IsPeerAuthenticated, context.Deadline);
            context.UserState["key"] = request;
            return Task.FromResult((string)context.UserState["key"]);
        });

        Assert.That(await Call(rig).Bounded(), Is.EqualTo("request"));
        Assert.That(seen.Method, Is.EqualTo(TestMethods.Unary.FullName));
        Assert.That(seen.Peer, Does.StartWith("ipv4:127.0.0.1:"));
        Assert.That(seen.Authenticated, Is.False);
        Assert.That(seen.Deadline, Is.EqualTo(DateTime.MaxValue));
    }

    [Test]
    public async Task Client_WithHost_SendsItAsAuthority()
    {
        await using var rig = Rig((_, context) => Task.FromResult(context.Host));
        var client = new FakeService.FakeClient(rig.Channel).WithHost("other.example");

        var host = await client.Invoker.AsyncUnaryCall(TestMethods.Unary, null, new CallOptions(), "request").Bounded();

        Assert.That(host, Is.EqualTo("other.example"));
    }

    private static GrpcCoreRig Rig(UnaryServerMethod<string, string> handler)
    {
        return GrpcCoreRig.Start(builder => builder.AddMethod(TestMethods.Unary, handler));
    }

    private static AsyncUnaryCall<string> Call(GrpcCoreRig rig, CallOptions options = default)
    {
        return rig.Invoker.AsyncUnaryCall(TestMethods.Unary, null, options, "request");
    }
}
