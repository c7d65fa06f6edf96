using Grpc.Core;
using Grpc.Core.Interceptors;

namespace RpcOverShm.Hosting.Calls;

/// <summary>Makes the call of a server known to the clients that its method uses. Stateless.</summary>
internal sealed class CurrentCallInterceptor : Interceptor
{
    public override async Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
        TRequest request, ServerCallContext context, UnaryServerMethod<TRequest, TResponse> continuation)
    {
        var current = CurrentCall.Begin(context);
        try
        {
            return await continuation(request, context).ConfigureAwait(false);
        }
        finally
        {
            current.End();
        }
    }

    public override async Task<TResponse> ClientStreamingServerHandler<TRequest, TResponse>(
        IAsyncStreamReader<TRequest> requestStream,
        ServerCallContext context,
        ClientStreamingServerMethod<TRequest, TResponse> continuation)
    {
        var current = CurrentCall.Begin(context);
        try
        {
            return await continuation(requestStream, context).ConfigureAwait(false);
        }
        finally
        {
            current.End();
        }
    }

    public override async Task ServerStreamingServerHandler<TRequest, TResponse>(
        TRequest request,
        IServerStreamWriter<TResponse> responseStream,
        ServerCallContext context,
        ServerStreamingServerMethod<TRequest, TResponse> continuation)
    {
        var current = CurrentCall.Begin(context);
        try
        {
            await continuation(request, responseStream, context).ConfigureAwait(false);
        }
        finally
        {
            current.End();
        }
    }

    public override async Task DuplexStreamingServerHandler<TRequest, TResponse>(
        IAsyncStreamReader<TRequest> requestStream,
        IServerStreamWriter<TResponse> responseStream,
        ServerCallContext context,
        DuplexStreamingServerMethod<TRequest, TResponse> continuation)
    {
        var current = CurrentCall.Begin(context);
        try
        {
            await continuation(requestStream, responseStream, context).ConfigureAwait(false);
        }
        finally
        {
            current.End();
        }
    }
}
