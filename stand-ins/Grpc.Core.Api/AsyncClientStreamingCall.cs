using System.Diagnostics;
using System.Runtime.CompilerServices;
using Grpc.Core.Internal;

namespace Grpc.Core;

[DebuggerDisplay("{DebuggerToString(),nq}")]
[DebuggerTypeProxy(typeof(AsyncClientStreamingCall<,>.DebugView))]
public sealed class AsyncClientStreamingCall<TRequest, TResponse> : IDisposable
{
    private readonly CallCallbacks _callbacks;

    public AsyncClientStreamingCall(
        IClientStreamWriter<TRequest> requestStream,
        Task<TResponse> responseAsync,
        Task<Metadata> responseHeadersAsync,
        Func<Status> getStatusFunc,
        Func<Metadata> getTrailersFunc,
        Action disposeAction)
    {
        RequestStream = requestStream;
        ResponseAsync = responseAsync;
        _callbacks = new CallCallbacks(responseHeadersAsync, getStatusFunc, getTrailersFunc, disposeAction);
    }

    public AsyncClientStreamingCall(
        IClientStreamWriter<TRequest> requestStream,
        Task<TResponse> responseAsync,
        Func<object, Task<Metadata>> responseHeadersAsync,
        Func<object, Status> getStatusFunc,
        Func<object, Metadata> getTrailersFunc,
        Action<object> disposeAction,
        object state)
    {
        RequestStream = requestStream;
        ResponseAsync = responseAsync;
        _callbacks = new CallCallbacks(responseHeadersAsync, getStatusFunc, getTrailersFunc, disposeAction, state);
    }

    public IClientStreamWriter<TRequest> RequestStream { get; }

    public Task<TResponse> ResponseAsync { get; }

    public Task<Metadata> ResponseHeadersAsync => _callbacks.ResponseHeaders;

    public TaskAwaiter<TResponse> GetAwaiter() => ResponseAsync.GetAwaiter();

    public ConfiguredTaskAwaitable<TResponse> ConfigureAwait(bool continueOnCapturedContext) =>
        ResponseAsync.ConfigureAwait(continueOnCapturedContext);

    public Status GetStatus() => _callbacks.GetStatus();

    public Metadata GetTrailers() => _callbacks.GetTrailers();

    public void Dispose() => _callbacks.Dispose();

    private string DebuggerToString() => CallDebugInfo.Summarize(_callbacks);

    private sealed class DebugView(AsyncClientStreamingCall<TRequest, TResponse> call) : CallDebugView(call._callbacks)
    {
        public IClientStreamWriter<TRequest> RequestStream => call.RequestStream;

        public TResponse? Response => ResultOrDefault(call.ResponseAsync);
    }
}
