using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Servers;

/// <summary>The handler of a server streaming method.</summary>
internal sealed class ServerStreamingHandler<TRequest, TResponse>(
    Method<TRequest, TResponse> method,
    IReadOnlyList<MarshallerProvider> codecs,
    ServerStreamingServerMethod<TRequest, TResponse> invoke)
    : TypedMethodHandler<TRequest, TResponse>(method, codecs)
    where TRequest : class
    where TResponse : class
{
    public override async Task InvokeAsync(ServerCall call, ShmServerCallContext context)
    {
        TRequest request = ReadRequest(call);
        var responses = new ResponseStreamWriter<TResponse>(call, context, ResponseMarshaller(call));
        try
        {
            await NotNull(invoke(request, responses, context)).ConfigureAwait(false);
        }
        finally
        {
            responses.Complete();
        }
    }
}
