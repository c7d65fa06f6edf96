using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Interceptors;

/// <summary>
/// Replaces the responses of unary calls, or fails in the place of them; asks the server as often as it is told to.
/// Only for calls of payloads.
/// </summary>
/// <param name="calls">How often it goes on with a call.</param>
/// <param name="answer">Makes the response from that of the last call; null of a call that never went on.</param>
internal sealed class AnsweringInterceptor(int calls, Func<Payload?, Payload> answer) : Interceptor
{
    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        BlockingUnaryCallContinuation<TRequest, TResponse> continuation)
    {
        TResponse? response = null;
        for (int i = 0; i < calls; i++)
        {
            response = continuation(request, context);
        }

        return (TResponse)(object)answer((Payload?)(object?)response);
    }

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncUnaryCallContinuation<TRequest, TResponse> continuation)
    {
        return new AsyncUnaryCall<TResponse>(
            AnswerAsync(), Task.FromResult(new Metadata()), () => Status.DefaultSuccess, () => [], () => { });

        async Task<TResponse> AnswerAsync()
        {
            TResponse? response = null;
            for (int i = 0; i < calls; i++)
            {
                response = await continuation(request, context);
            }

            return (TResponse)(object)answer((Payload?)(object?)response);
        }
    }
}
