using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Servers;

/// <summary>The handler of a duplex streaming method.</summary>
internal sealed class DuplexStreamingHandler<TRequest, TResponse>(
    Method<TRequest, TResponse> method,
    IReadOnlyList<MarshallerProvider> codecs,
    DuplexStreamingServerMethod<TRequest, TResponse> invoke)
    : TypedMethodHandler<TRequest, TResponse>(method, codecs)
    where TRequest : class
    where TResponse : class
{
    public override async Task InvokeAsync(ServerCall call, ShmServerCallContext context)
    {
        var requests = new RequestStreamReader<TRequest>(call, RequestMarshaller(call));
        var responses = new ResponseStreamWriter<TResponse>(call, context, ResponseMarshaller(call));
        try
        {
            await NotNull(invoke(requests, responses, context)).ConfigureAwait(false);
        }
        finally
        {
            responses.Complete();
        }
    }
}
