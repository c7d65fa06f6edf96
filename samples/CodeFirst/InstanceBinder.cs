#pragma warning disable IDE0005 // Tests compile this file too, in a project that uses the namespace everywhere.
using Grpc.Core;
#pragma warning restore IDE0005
using ProtoBuf.Grpc.Configuration;

namespace RpcOverShm.Samples;

// snippet: binder
/// <summary>
/// Binds the operations of an interface to instances that a function creates; AddCodeFirst needs one that exists.
/// </summary>
internal sealed class InstanceBinder : ServerBinder
{
    protected override bool TryBind<TService, TRequest, TResponse>(
        ServiceBindContext bindContext, Method<TRequest, TResponse> method, MethodStub<TService> stub)
    {
        var binder = (ShmServiceBinder<TService>)bindContext.State;
        switch (method.Type)
        {
            case MethodType.Unary:
                binder.AddUnaryMethod(
                    method, stub.CreateDelegate<Func<TService, TRequest, ServerCallContext, Task<TResponse>>>());
                break;
            case MethodType.ClientStreaming:
                binder.AddClientStreamingMethod(method, stub.CreateDelegate<
                    Func<TService, IAsyncStreamReader<TRequest>, ServerCallContext, Task<TResponse>>>());
                break;
            case MethodType.ServerStreaming:
                binder.AddServerStreamingMethod(method, stub.CreateDelegate<
                    Func<TService, TRequest, IServerStreamWriter<TResponse>, ServerCallContext, Task>>());
                break;
            default:
                binder.AddDuplexStreamingMethod(
                    method,
                    stub.CreateDelegate<Func<
                        TService,
                        IAsyncStreamReader<TRequest>,
                        IServerStreamWriter<TResponse>,
                        ServerCallContext,
                        Task>>());
                break;
        }

        return true;
    }
}
// end snippet
