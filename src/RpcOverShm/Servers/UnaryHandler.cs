using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Servers;

/// <summary>One request, one response.</summary>
internal sealed class UnaryHandler<TRequest, TResponse>(
    Method<TRequest, TResponse> method,
    IReadOnlyList<MarshallerProvider> codecs,
    UnaryServerMethod<TRequest, TResponse> invoke)
    : TypedMethodHandler<TRequest, TResponse>(method, codecs)
    where TRequest : class
    where TResponse : class
{
    // No state machine where nothing is to be waited for: most calls are over when the method returns.
    public override Task InvokeAsync(ServerCall call, ShmServerCallContext context)
    {
        Task<TResponse> running = NotNull(invoke(ReadRequest(call), context));
        if (!running.IsCompletedSuccessfully)
        {
            return EndLaterAsync(call, context, running);
        }

        call.EndWith(ResponseMarshaller(call), running.Result, context);
        return Task.CompletedTask;
    }

    private async Task EndLaterAsync(ServerCall call, ShmServerCallContext context, Task<TResponse> running) =>
        call.EndWith(ResponseMarshaller(call), await running.ConfigureAwait(false), context);
}
