using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Servers;

/// <summary>The handler of a client streaming method.</summary>
internal sealed class ClientStreamingHandler<TRequest, TResponse>(
    Method<TRequest, TResponse> method,
    IReadOnlyList<MarshallerProvider> codecs,
    ClientStreamingServerMethod<TRequest, TResponse> invoke)
    : TypedMethodHandler<TRequest, TResponse>(method, codecs)
    where TRequest : class
    where TResponse : class
{
    public override async Task InvokeAsync(ServerCall call, ShmServerCallContext context)
    {
        var requests = new RequestStreamReader<TRequest>(call, RequestMarshaller(call));
        TResponse response = await NotNull(invoke(requests, context)).ConfigureAwait(false);
        call.EndWith(ResponseMarshaller(call), response, context);
    }
}
