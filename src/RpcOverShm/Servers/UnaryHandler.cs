using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Servers;

/// <summary>The handler of a unary method.</summary>
internal sealed class UnaryHandler<TRequest, TResponse>(
    Method<TRequest, TResponse> method,
    IReadOnlyList<MarshallerProvider> codecs,
    UnaryServerMethod<TRequest, TResponse> invoke)
    : TypedMethodHandler<TRequest, TResponse>(method, codecs)
    where TRequest : class
    where TResponse : class
{
    // No async state machine for the common case of a method that has completed when it returns.
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
