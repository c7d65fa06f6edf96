using System.Diagnostics;
using System.Runtime.CompilerServices;
using Grpc.Core.Internal;

namespace Grpc.Core;

[DebuggerDisplay("{DebuggerToString(),nq}")]
[DebuggerTypeProxy(typeof(AsyncUnaryCall<>.DebugView))]
public sealed class AsyncUnaryCall<TResponse> : IDisposable
{
    private readonly CallCallbacks _callbacks;

    public AsyncUnaryCall(
        Task<TResponse> responseAsync,
        Task<Metadata> responseHeadersAsync,
        Func<Status> getStatusFunc,
        Func<Metadata> getTrailersFunc,
        Action disposeAction)
    {
        ResponseAsync = responseAsync;
        _callbacks = new CallCallbacks(responseHeadersAsync, getStatusFunc, getTrailersFunc, disposeAction);
    }

    public AsyncUnaryCall(
        Task<TResponse> responseAsync,
        Func<object, Task<Metadata>> responseHeadersAsync,
        Func<object, Status> getStatusFunc,
        Func<object, Metadata> getTrailersFunc,
        Action<object> disposeAction,
        object state)
    {
        ResponseAsync = responseAsync;
        _callbacks = new CallCallbacks(responseHeadersAsync, getStatusFunc, getTrailersFunc, disposeAction, state);
    }

    public Task<TResponse> ResponseAsync { get; }

    public Task<Metadata> ResponseHeadersAsync => _callbacks.ResponseHeaders;

    public TaskAwaiter<TResponse> GetAwaiter() => ResponseAsync.GetAwaiter();

    public ConfiguredTaskAwaitable<TResponse> ConfigureAwait(bool continueOnCapturedContext) =>
        ResponseAsync.ConfigureAwait(continueOnCapturedContext);

    public Status GetStatus() => _callbacks.GetStatus();

    public Metadata GetTrailers() => _callbacks.GetTrailers();

    public void Dispose() => _callbacks.Dispose();

    private string DebuggerToString() => CallDebugInfo.Summarize(_callbacks);

    private sealed class DebugView(AsyncUnaryCall<TResponse> call) : CallDebugView(call._callbacks)
    {
        public object? Request => FindRequest();

        public TResponse? Response => ResultOrDefault(call.ResponseAsync);
    }
}
