using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Interceptors;

/// <summary>
/// Runs a delegate around the methods of a server, in every shape. Without a response of the method it is empty.
/// </summary>
/// <param name="around">Receives the call's context and the continuation.</param>
internal sealed class AroundInterceptor(Func<ServerCallContext, Func<Task>, Task> around) : Interceptor
{
    /// <summary>Creates an interceptor that records the methods of the calls that it continues.</summary>
    public static AroundInterceptor Noting(string name, List<string> notes) => new((context, next) =>
    {
        notes.Add($"{name} {context.Method}");
        return next();
    });

    public override async Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
        TRequest request, ServerCallContext context, UnaryServerMethod<TRequest, TResponse> continuation)
    {
        TResponse? response = null;
        await around(context, async () => response = await continuation(request, context));
        return response ?? (TResponse)(object)Payloads.Empty;
    }

    public override async Task<TResponse> ClientStreamingServerHandler<TRequest, TResponse>(
        IAsyncStreamReader<TRequest> requestStream,
        ServerCallContext context,
        ClientStreamingServerMethod<TRequest, TResponse> continuation)
    {
        TResponse? response = null;
        await around(context, async () => response = await continuation(requestStream, context));
        return response ?? (TResponse)(object)Payloads.Empty;
    }

    public override Task ServerStreamingServerHandler<TRequest, TResponse>(
        TRequest request,
        IServerStreamWriter<TResponse> responseStream,
        ServerCallContext context,
        ServerStreamingServerMethod<TRequest, TResponse> continuation) =>
        around(context, () => continuation(request, responseStream, context));

    public override Task DuplexStreamingServerHandler<TRequest, TResponse>(
        IAsyncStreamReader<TRequest> requestStream,
        IServerStreamWriter<TResponse> responseStream,
        ServerCallContext context,
        DuplexStreamingServerMethod<TRequest, TResponse> continuation) =>
        around(context, () => continuation(requestStream, responseStream, context));
}
