using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Servers;

/// <summary>One request, one response.</summary>
internal sealed class UnaryHandler<TRequest, TResponse>(
    Method<TRequest, TResponse> method,
    IReadOnlyList<MarshallerSource> codecs,
    UnaryServerMethod<TRequest, TResponse> invoke)
    : TypedMethodHandler<TRequest, TResponse>(method, codecs)
    where TRequest : class
    where TResponse : class
{
    public override async Task InvokeAsync(ServerCall call, ShmServerCallContext context)
    {
        TRequest request = await ReadRequestAsync(call).ConfigureAwait(false);
        TResponse response = await NotNull(invoke(request, context)).ConfigureAwait(false);
        call.EndWith(ResponseMarshaller(call), response, context);
    }
}
