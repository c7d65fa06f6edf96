using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Interceptors;

/// <summary>Replaces or fails the responses of unary calls of payloads.</summary>
/// <param name="calls">The number of times that it continues a call.</param>
/// <param name="answer">Creates the response from that of the last continuation, or from null without one.</param>
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
