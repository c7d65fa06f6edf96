using Grpc.Core;
using Grpc.Core.Interceptors;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.FunctionalTests;

/// <summary>Interceptors of the public API around both sides.</summary>
[TestFixture(RigKind.Shm)]
[TestFixture(RigKind.GrpcCore)]
internal sealed class InterceptorTests(RigKind kind) : RigFixture(kind)
{
    [Test]
    public async Task ClientInterceptors_WrapEveryShape_InOrder()
    {
        var seen = new NotingInterceptor.Notes();
        CallRig rig = await StartAsync(new Script());
        CallInvoker invoker = rig.Channel.Intercept(
            new NotingInterceptor("outer", seen), new NotingInterceptor("inner", seen));

        string wrong = await Shapes.RunAllAsync(new ScriptClient(invoker)).Bounded();

        Assert.That(wrong, Is.Empty);
        Assert.That(seen.Taken, Is.EqualTo(new[]
        {
            "outer blocking Unary", "inner blocking Unary",
            "outer unary Unary", "inner unary Unary",
            "outer server-stream ServerStream", "inner server-stream ServerStream",
            "outer client-stream ClientStream", "inner client-stream ClientStream",
            "outer duplex Duplex", "inner duplex Duplex",
        }));
    }

    [Test]
    public async Task ServerInterceptors_WrapEveryShape()
    {
        var seen = new NotingInterceptor.Notes();
        CallRig rig = await StartAsync(
            new Script(), new RigOptions { ServerInterceptors = [new NotingInterceptor("server", seen)] });

        string wrong = await Shapes.RunAllAsync(rig.Client).Bounded();

        Assert.That(wrong, Is.Empty);
        Assert.That(seen.Taken, Is.EqualTo(new[]
        {
            "server handles /rpcovershm.testing.Script/Unary",
            "server handles /rpcovershm.testing.Script/Unary",
            "server handles /rpcovershm.testing.Script/ServerStream",
            "server handles /rpcovershm.testing.Script/ClientStream",
            "server handles /rpcovershm.testing.Script/Duplex",
        }));
    }

    [Test]
    public async Task ClientInterceptor_MayAddMetadata()
    {
        CallRig rig = await StartAsync(new Script
        {
            Unary = (_, context) => Task.FromResult(Payloads.Of(context.RequestHeaders.GetValue("added")!)),
        });
        CallInvoker invoker = rig.Channel.Intercept(metadata =>
        {
            metadata.Add("added", "by the interceptor");
            return metadata;
        });

        Payload response = await new ScriptClient(invoker).UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        Assert.That(response.Text(), Is.EqualTo("by the interceptor"));
    }

    [Test]
    public async Task ServerInterceptor_MayRefuse()
    {
        var options = new RigOptions { ServerInterceptors = [new RefusingInterceptor()] };
        CallRig rig = await StartAsync(new Script(), options);

        RpcException unary = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));
        RpcException stream = await FailureOf(rig.Client.ServerStream(Payloads.Empty).ResponseStream.ReadAllAsync());

        Assert.That(unary.Status.Plain(), Is.EqualTo(new Status(StatusCode.PermissionDenied, "not you")));
        Assert.That(stream.StatusCode, Is.EqualTo(StatusCode.PermissionDenied));
    }

    private sealed class RefusingInterceptor : Interceptor
    {
        public override Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
            TRequest request, ServerCallContext context, UnaryServerMethod<TRequest, TResponse> continuation) =>
            throw new RpcException(new Status(StatusCode.PermissionDenied, "not you"));

        public override Task ServerStreamingServerHandler<TRequest, TResponse>(
            TRequest request,
            IServerStreamWriter<TResponse> responseStream,
            ServerCallContext context,
            ServerStreamingServerMethod<TRequest, TResponse> continuation) =>
            throw new RpcException(new Status(StatusCode.PermissionDenied, "not you"));
    }
}
