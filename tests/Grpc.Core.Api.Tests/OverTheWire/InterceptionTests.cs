using Grpc.Core.Api.Tests.Fakes;
using Grpc.Core.Interceptors;

namespace Grpc.Core.Api.Tests.OverTheWire;

/// <summary>Interceptors on both sides of one connection.</summary>
public class InterceptionTests
{
    private readonly List<string> _log = [];

    [Test]
    public async Task Unary_Intercepted_PassesEveryInterceptorInOrder()
    {
        await using var rig = Rig();

        using var call = Invoker(rig).AsyncUnaryCall(TestMethods.Unary, null, new CallOptions(), "request");

        Assert.That(await call.Bounded(), Is.EqualTo("request"));
        AssertPassedInOrder();
    }

    [Test]
    public async Task ClientStreaming_Intercepted_PassesEveryInterceptorInOrder()
    {
        await using var rig = Rig();

        using var call = Invoker(rig).AsyncClientStreamingCall(TestMethods.ClientStreaming, null, new CallOptions());
        await call.RequestStream.CompleteAsync().Bounded();

        Assert.That(await call.Bounded(), Is.EqualTo("done"));
        AssertPassedInOrder();
    }

    [Test]
    public async Task ServerStreaming_Intercepted_PassesEveryInterceptorInOrder()
    {
        await using var rig = Rig();

        using var call = Invoker(rig).AsyncServerStreamingCall(
            TestMethods.ServerStreaming, null, new CallOptions(), "request");

        Assert.That(await call.ResponseStream.ReadAll(), Is.EqualTo(["request"]));
        AssertPassedInOrder();
    }

    [Test]
    public async Task Duplex_Intercepted_PassesEveryInterceptorInOrder()
    {
        await using var rig = Rig();

        using var call = Invoker(rig).AsyncDuplexStreamingCall(TestMethods.DuplexStreaming, null, new CallOptions());
        await call.RequestStream.WriteAsync("request").Bounded();
        await call.RequestStream.CompleteAsync().Bounded();

        Assert.That(await call.ResponseStream.ReadAll(), Is.EqualTo(["request"]));
        AssertPassedInOrder();
    }

    [Test]
    public async Task Headers_AddedByInterceptor_ReachTheServer()
    {
        await using var rig = GrpcCoreRig.Start(builder => builder.AddMethod(
            TestMethods.Unary,
            (string _, ServerCallContext context) => Task.FromResult(context.RequestHeaders.GetValue("added")!)));
        var invoker = rig.Channel.Intercept(headers => [.. headers, new Metadata.Entry("added", "value")]);

        using var call = invoker.AsyncUnaryCall(TestMethods.Unary, null, new CallOptions(), "request");

        Assert.That(await call.Bounded(), Is.EqualTo("value"));
    }

    private GrpcCoreRig Rig()
    {
        return GrpcCoreRig.Start(
            builder => builder
                .AddMethod(TestMethods.Unary, (request, _) => Task.FromResult(request))
                .AddMethod(TestMethods.ClientStreaming, Finish)
                .AddMethod(TestMethods.ServerStreaming, (request, responses, _) => responses.WriteAsync(request))
                .AddMethod(TestMethods.DuplexStreaming, Copy),
            new TracingInterceptor("server 1", _log),
            new TracingInterceptor("server 2", _log));
    }

    private CallInvoker Invoker(GrpcCoreRig rig)
    {
        return rig.Channel.Intercept(
            new TracingInterceptor("client 1", _log),
            new TracingInterceptor("client 2", _log));
    }

    private void AssertPassedInOrder()
    {
        Assert.That(_log, Is.EqualTo(["client 1", "client 2", "server 1", "server 2"]));
    }

    private static async Task<string> Finish(IAsyncStreamReader<string> requests, ServerCallContext context)
    {
        await requests.ReadAll();
        return "done";
    }

    private static async Task Copy(
        IAsyncStreamReader<string> requests,
        IServerStreamWriter<string> responses,
        ServerCallContext context)
    {
        foreach (var request in await requests.ReadAll())
        {
            await responses.WriteAsync(request);
        }
    }
}
