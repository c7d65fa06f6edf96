using System.Diagnostics;
using Grpc.Core.Internal;

namespace Grpc.Core;

[DebuggerDisplay("{DebuggerToString(),nq}")]
[DebuggerTypeProxy(typeof(AsyncDuplexStreamingCall<,>.DebugView))]
public sealed class AsyncDuplexStreamingCall<TRequest, TResponse> : IDisposable
{
    private readonly CallCallbacks _callbacks;

    public AsyncDuplexStreamingCall(
        IClientStreamWriter<TRequest> requestStream,
        IAsyncStreamReader<TResponse> responseStream,
        Task<Metadata> responseHeadersAsync,
        Func<Status> getStatusFunc,
        Func<Metadata> getTrailersFunc,
        Action disposeAction)
    {
        RequestStream = requestStream;
        ResponseStream = responseStream;
        _callbacks = new CallCallbacks(responseHeadersAsync, getStatusFunc, getTrailersFunc, disposeAction);
    }

    public AsyncDuplexStreamingCall(
        IClientStreamWriter<TRequest> requestStream,
        IAsyncStreamReader<TResponse> responseStream,
        Func<object, Task<Metadata>> responseHeadersAsync,
        Func<object, Status> getStatusFunc,
        Func<object, Metadata> getTrailersFunc,
        Action<object> disposeAction,
        object state)
    {
        RequestStream = requestStream;
        ResponseStream = responseStream;
        _callbacks = new CallCallbacks(responseHeadersAsync, getStatusFunc, getTrailersFunc, disposeAction, state);
    }

    public IClientStreamWriter<TRequest> RequestStream { get; }

    public IAsyncStreamReader<TResponse> ResponseStream { get; }

    public Task<Metadata> ResponseHeadersAsync => _callbacks.ResponseHeaders;

    public Status GetStatus() => _callbacks.GetStatus();

    public Metadata GetTrailers() => _callbacks.GetTrailers();

    public void Dispose() => _callbacks.Dispose();

    private string DebuggerToString() => CallDebugInfo.Summarize(_callbacks);

    private sealed class DebugView(AsyncDuplexStreamingCall<TRequest, TResponse> call) : CallDebugView(call._callbacks)
    {
        public IClientStreamWriter<TRequest> RequestStream => call.RequestStream;

        public IAsyncStreamReader<TResponse> ResponseStream => call.ResponseStream;
    }
}
