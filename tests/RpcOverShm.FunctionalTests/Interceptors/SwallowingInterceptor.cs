using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Interceptors;

/// <summary>Replaces a server method's failure with an empty response.</summary>
internal sealed class SwallowingInterceptor : Interceptor
{
    public override Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
        TRequest request, ServerCallContext context, UnaryServerMethod<TRequest, TResponse> continuation) =>
        OrEmptyAsync(() => continuation(request, context));

    public override Task<TResponse> ClientStreamingServerHandler<TRequest, TResponse>(
        IAsyncStreamReader<TRequest> requestStream,
        ServerCallContext context,
        ClientStreamingServerMethod<TRequest, TResponse> continuation) =>
        OrEmptyAsync(() => continuation(requestStream, context));

    public override Task ServerStreamingServerHandler<TRequest, TResponse>(
        TRequest request,
        IServerStreamWriter<TResponse> responseStream,
        ServerCallContext context,
        ServerStreamingServerMethod<TRequest, TResponse> continuation) =>
        OrEmptyAsync(() => NothingAfterAsync(continuation(request, responseStream, context)));

    public override Task DuplexStreamingServerHandler<TRequest, TResponse>(
        IAsyncStreamReader<TRequest> requestStream,
        IServerStreamWriter<TResponse> responseStream,
        ServerCallContext context,
        DuplexStreamingServerMethod<TRequest, TResponse> continuation) =>
        OrEmptyAsync(() => NothingAfterAsync(continuation(requestStream, responseStream, context)));

    private static async Task<TResponse> OrEmptyAsync<TResponse>(Func<Task<TResponse>> method)
    {
        try
        {
            return await method();
        }
        catch (KeyNotFoundException)
        {
            return (TResponse)(object)Payloads.Empty;
        }
    }

    private static async Task<Payload> NothingAfterAsync(Task method)
    {
        await method;
        return Payloads.Empty;
    }
}
