using System.Diagnostics;
using Grpc.Core.Internal;

namespace Grpc.Core;

[DebuggerDisplay("{DebuggerToString(),nq}")]
[DebuggerTypeProxy(typeof(AsyncServerStreamingCall<>.DebugView))]
public sealed class AsyncServerStreamingCall<TResponse> : IDisposable
{
    private readonly CallCallbacks _callbacks;

    public AsyncServerStreamingCall(
        IAsyncStreamReader<TResponse> responseStream,
        Task<Metadata> responseHeadersAsync,
        Func<Status> getStatusFunc,
        Func<Metadata> getTrailersFunc,
        Action disposeAction)
    {
        ResponseStream = responseStream;
        _callbacks = new CallCallbacks(responseHeadersAsync, getStatusFunc, getTrailersFunc, disposeAction);
    }

    public AsyncServerStreamingCall(
        IAsyncStreamReader<TResponse> responseStream,
        Func<object, Task<Metadata>> responseHeadersAsync,
        Func<object, Status> getStatusFunc,
        Func<object, Metadata> getTrailersFunc,
        Action<object> disposeAction,
        object state)
    {
        ResponseStream = responseStream;
        _callbacks = new CallCallbacks(responseHeadersAsync, getStatusFunc, getTrailersFunc, disposeAction, state);
    }

    public IAsyncStreamReader<TResponse> ResponseStream { get; }

    public Task<Metadata> ResponseHeadersAsync => _callbacks.ResponseHeaders;

    public Status GetStatus() => _callbacks.GetStatus();

    public Metadata GetTrailers() => _callbacks.GetTrailers();

    public void Dispose() => _callbacks.Dispose();

    private string DebuggerToString() => CallDebugInfo.Summarize(_callbacks);

    private sealed class DebugView(AsyncServerStreamingCall<TResponse> call) : CallDebugView(call._callbacks)
    {
        public object? Request => FindRequest();

        public IAsyncStreamReader<TResponse> ResponseStream => call.ResponseStream;
    }
}
