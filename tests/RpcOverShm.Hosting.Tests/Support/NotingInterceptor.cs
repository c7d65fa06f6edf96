using Grpc.Core;
using Grpc.Core.Interceptors;

namespace RpcOverShm.Hosting.Tests.Support;

/// <summary>Notes which calls pass, and the part that it shares with the service of the call.</summary>
internal class NotingInterceptor(Diary diary, Part part) : Interceptor, IDisposable
{
    public override async Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
        TRequest request, ServerCallContext context, UnaryServerMethod<TRequest, TResponse> continuation)
    {
        diary.Note($"{GetType().Name} {part.Number} begins {context.Method}");
        TResponse response = await continuation(request, context);
        diary.Note($"{GetType().Name} {part.Number} ends");
        return response;
    }

    public override async Task DuplexStreamingServerHandler<TRequest, TResponse>(
        IAsyncStreamReader<TRequest> requestStream,
        IServerStreamWriter<TResponse> responseStream,
        ServerCallContext context,
        DuplexStreamingServerMethod<TRequest, TResponse> continuation)
    {
        diary.Note($"{GetType().Name} {part.Number} begins {context.Method}");
        await continuation(requestStream, responseStream, context);
        diary.Note($"{GetType().Name} {part.Number} ends");
    }

    public void Dispose() => diary.Note($"{GetType().Name} {part.Number} disposed");
}

/// <summary>Another one, to see the order.</summary>
internal sealed class InnerInterceptor(Diary diary, Part part) : NotingInterceptor(diary, part);

/// <summary>Notes the calls that a client makes.</summary>
internal sealed class ClientInterceptor(Diary diary, string name) : Interceptor
{
    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncUnaryCallContinuation<TRequest, TResponse> continuation)
    {
        diary.Note(name);
        return continuation(request, context);
    }
}
