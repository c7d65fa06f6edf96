using Grpc.Core;
using Grpc.Core.Interceptors;

namespace RpcOverShm.Samples;

/// <summary>Server interceptor that adds a trailer with the method and the caller's name to each call.</summary>
internal sealed class SigningInterceptor : Interceptor
{
    public const string SignatureKey = "signature";

    public override Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
        TRequest request, ServerCallContext context, UnaryServerMethod<TRequest, TResponse> continuation)
    {
        Sign(context);
        return continuation(request, context);
    }

    public override Task<TResponse> ClientStreamingServerHandler<TRequest, TResponse>(
        IAsyncStreamReader<TRequest> requestStream,
        ServerCallContext context,
        ClientStreamingServerMethod<TRequest, TResponse> continuation)
    {
        Sign(context);
        return continuation(requestStream, context);
    }

    public override Task ServerStreamingServerHandler<TRequest, TResponse>(
        TRequest request,
        IServerStreamWriter<TResponse> responseStream,
        ServerCallContext context,
        ServerStreamingServerMethod<TRequest, TResponse> continuation)
    {
        Sign(context);
        return continuation(request, responseStream, context);
    }

    public override Task DuplexStreamingServerHandler<TRequest, TResponse>(
        IAsyncStreamReader<TRequest> requestStream,
        IServerStreamWriter<TResponse> responseStream,
        ServerCallContext context,
        DuplexStreamingServerMethod<TRequest, TResponse> continuation)
    {
        Sign(context);
        return continuation(requestStream, responseStream, context);
    }

    private static void Sign(ServerCallContext context)
    {
        string caller = context.RequestHeaders.GetValue(CallerInterceptor.CallerKey) ?? "nobody";
        context.ResponseTrailers.Add(SignatureKey, $"{context.Method} for {caller}");
    }
}
