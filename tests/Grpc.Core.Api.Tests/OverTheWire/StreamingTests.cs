using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.OverTheWire;

public class StreamingTests
{
    private static readonly ClientStreamingServerMethod<string, string> s_join = async (requests, _) =>
        string.Join(',', await requests.ReadAll());

    private static readonly ServerStreamingServerMethod<string, string> s_split = async (request, responses, _) =>
    {
        foreach (var part in request.Split(','))
        {
            await responses.WriteAsync(part);
        }
    };

    private static readonly DuplexStreamingServerMethod<string, string> s_chat = async (requests, responses, context) =>
    {
        await context.WriteResponseHeadersAsync([new("header", "1")]);
        while (await requests.MoveNext())
        {
            await responses.WriteAsync("echo " + requests.Current);
        }

        context.ResponseTrailers.Add("trailer", "2");
    };

    [Test]
    public async Task ClientStreaming_Messages_ArriveInOrder()
    {
        await using var rig = GrpcCoreRig.Start(builder => builder.AddMethod(TestMethods.ClientStreaming, s_join));
        using var call = rig.Invoker.AsyncClientStreamingCall(TestMethods.ClientStreaming, null, new CallOptions());

        await call.RequestStream.WriteAsync("a").Bounded();
        await call.RequestStream.WriteAsync("b").Bounded();
        await call.RequestStream.WriteAsync("c").Bounded();
        await call.RequestStream.CompleteAsync().Bounded();

        Assert.That(await call.Bounded(), Is.EqualTo("a,b,c"));
        Assert.That(call.GetStatus(), Is.EqualTo(Status.DefaultSuccess));
        Assert.That(call.GetTrailers(), Is.Empty);
    }

    [Test]
    public async Task ClientStreaming_HandlerFails_FailsTheResponse()
    {
        await using var rig = GrpcCoreRig.Start(builder => builder.AddMethod(
            TestMethods.ClientStreaming,
            (IAsyncStreamReader<string> _, ServerCallContext _) =>
                throw new RpcException(new Status(StatusCode.InvalidArgument, "no"))));
        using var call = rig.Invoker.AsyncClientStreamingCall(TestMethods.ClientStreaming, null, new CallOptions());

        var failure = await BoundedTasks.FailureOf(call.ResponseAsync);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.InvalidArgument));
    }

    [Test]
    public async Task ServerStreaming_Messages_ArriveInOrder()
    {
        await using var rig = GrpcCoreRig.Start(builder => builder.AddMethod(TestMethods.ServerStreaming, s_split));
        using var call = Stream(rig, "a,b,,c");

        Assert.That(await call.ResponseStream.ReadAll(), Is.EqualTo(["a", "b", "", "c"]));
        Assert.That(call.GetStatus(), Is.EqualTo(Status.DefaultSuccess));
    }

    [Test]
    public async Task ServerStreaming_HandlerFailsMidway_DeliversWhatCameBefore()
    {
        await using var rig = GrpcCoreRig.Start(builder => builder.AddMethod(
            TestMethods.ServerStreaming,
            async (request, responses, _) =>
            {
                await responses.WriteAsync(request);
                throw new RpcException(new Status(StatusCode.DataLoss, "torn"), [new("trailer", "1")]);
            }));
        using var call = Stream(rig, "first");

        Assert.That(await call.ResponseStream.MoveNext().Bounded());
        Assert.That(call.ResponseStream.Current, Is.EqualTo("first"));
        var failure = await BoundedTasks.FailureOf(call.ResponseStream.MoveNext());

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DataLoss));
        Assert.That(failure.Status.Detail, Is.EqualTo("torn"));
        Assert.That(call.GetTrailers().GetValue("trailer"), Is.EqualTo("1"));
    }

    [Test]
    public async Task ServerStreaming_WriteOptions_AreSharedWithTheContext()
    {
        WriteFlags? seen = null;
        await using var rig = GrpcCoreRig.Start(builder => builder.AddMethod(
            TestMethods.ServerStreaming,
            async (request, responses, context) =>
            {
                context.WriteOptions = new WriteOptions(WriteFlags.NoCompress);
                seen = responses.WriteOptions!.Flags;
                await responses.WriteAsync(request);
            }));
        using var call = Stream(rig, "message");

        Assert.That(await call.ResponseStream.ReadAll(), Is.EqualTo(["message"]));
        Assert.That(seen, Is.EqualTo(WriteFlags.NoCompress));
    }

    [Test]
    public async Task Duplex_PingPong_AlternatesAndEnds()
    {
        await using var rig = GrpcCoreRig.Start(builder => builder.AddMethod(TestMethods.DuplexStreaming, s_chat));
        using var call = rig.Invoker.AsyncDuplexStreamingCall(TestMethods.DuplexStreaming, null, new CallOptions());

        foreach (var message in new[] { "a", "b" })
        {
            await call.RequestStream.WriteAsync(message).Bounded();
            Assert.That(await call.ResponseStream.MoveNext().Bounded());
            Assert.That(call.ResponseStream.Current, Is.EqualTo("echo " + message));
        }

        await call.RequestStream.CompleteAsync().Bounded();

        Assert.That(await call.ResponseStream.MoveNext().Bounded(), Is.False);
        Assert.That((await call.ResponseHeadersAsync.Bounded()).GetValue("header"), Is.EqualTo("1"));
        Assert.That(call.GetTrailers().GetValue("trailer"), Is.EqualTo("2"));
        Assert.That(call.GetStatus(), Is.EqualTo(Status.DefaultSuccess));
    }

    [Test]
    public async Task Duplex_WriteWithCancellableToken_IsNotSupportedByGrpcCore()
    {
        // Grpc.Core is older than that overload, so the interface's own code answers for it.
        using var source = new CancellationTokenSource();
        await using var rig = GrpcCoreRig.Start(builder => builder.AddMethod(TestMethods.DuplexStreaming, s_chat));
        using var call = rig.Invoker.AsyncDuplexStreamingCall(TestMethods.DuplexStreaming, null, new CallOptions());

        Assert.That(
            async () => await call.RequestStream.WriteAsync("a", source.Token).Bounded(),
            Throws.TypeOf<NotSupportedException>());
    }

    private static AsyncServerStreamingCall<string> Stream(GrpcCoreRig rig, string request)
    {
        return rig.Invoker.AsyncServerStreamingCall(TestMethods.ServerStreaming, null, new CallOptions(), request);
    }
}
