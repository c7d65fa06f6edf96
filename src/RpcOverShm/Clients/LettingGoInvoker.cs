using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Clients;

/// <summary>
/// Makes callbacks. If the call whose method makes one holds something that it has to let go meanwhile, lets it go, and
/// takes it again before the method gets the response. Wiring only. Thread-safe.
/// </summary>
internal sealed class LettingGoInvoker(CallInvoker inner) : CallInvoker
{
    private static CallHold? Hold => AmbientCall.Current?.Hold;

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        if (Hold is not { } hold)
        {
            return inner.BlockingUnaryCall(method, host, options, request);
        }

        hold.LetGo();
        try
        {
            return inner.BlockingUnaryCall(method, host, options, request);
        }
        finally
        {
            // The method has chosen to block its thread. An interrupt must not let it go on without its instance.
            Gate.Uninterrupted(hold.TakeAgainAsync(), static taken =>
            {
                taken.GetAwaiter().GetResult();
                return true;
            });
        }
    }

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        AsyncUnaryCall<TResponse> call = inner.AsyncUnaryCall(method, host, options, request);
        if (Hold is not { } hold)
        {
            return call;
        }

        hold.LetGo();
        return new AsyncUnaryCall<TResponse>(
            ReturnAsync(hold, call.ResponseAsync),
            static call => ((AsyncUnaryCall<TResponse>)call).ResponseHeadersAsync,
            static call => ((AsyncUnaryCall<TResponse>)call).GetStatus(),
            static call => ((AsyncUnaryCall<TResponse>)call).GetTrailers(),
            static call => ((AsyncUnaryCall<TResponse>)call).Dispose(),
            call);
    }

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        AsyncServerStreamingCall<TResponse> call = inner.AsyncServerStreamingCall(method, host, options, request);
        return Hold is not { } hold
            ? call
            : new AsyncServerStreamingCall<TResponse>(
                new Reader<TResponse>(hold, call.ResponseStream),
                static call => ((AsyncServerStreamingCall<TResponse>)call).ResponseHeadersAsync,
                static call => ((AsyncServerStreamingCall<TResponse>)call).GetStatus(),
                static call => ((AsyncServerStreamingCall<TResponse>)call).GetTrailers(),
                static call => ((AsyncServerStreamingCall<TResponse>)call).Dispose(),
                call);
    }

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        AsyncClientStreamingCall<TRequest, TResponse> call = inner.AsyncClientStreamingCall(method, host, options);
        return Hold is not { } hold
            ? call
            : new AsyncClientStreamingCall<TRequest, TResponse>(
                new Writer<TRequest>(hold, call.RequestStream, call.ResponseAsync),
                ReturnAsync(hold, call.ResponseAsync),
                static call => ((AsyncClientStreamingCall<TRequest, TResponse>)call).ResponseHeadersAsync,
                static call => ((AsyncClientStreamingCall<TRequest, TResponse>)call).GetStatus(),
                static call => ((AsyncClientStreamingCall<TRequest, TResponse>)call).GetTrailers(),
                static call => ((AsyncClientStreamingCall<TRequest, TResponse>)call).Dispose(),
                call);
    }

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        AsyncDuplexStreamingCall<TRequest, TResponse> call = inner.AsyncDuplexStreamingCall(method, host, options);
        return Hold is not { } hold
            ? call
            : new AsyncDuplexStreamingCall<TRequest, TResponse>(
                call.RequestStream,
                new Reader<TResponse>(hold, call.ResponseStream),
                static call => ((AsyncDuplexStreamingCall<TRequest, TResponse>)call).ResponseHeadersAsync,
                static call => ((AsyncDuplexStreamingCall<TRequest, TResponse>)call).GetStatus(),
                static call => ((AsyncDuplexStreamingCall<TRequest, TResponse>)call).GetTrailers(),
                static call => ((AsyncDuplexStreamingCall<TRequest, TResponse>)call).Dispose(),
                call);
    }

    private static Task<T> ReturnAsync<T>(CallHold hold, Task<T> response)
    {
        // The user may leave it unawaited, as the task of the call itself.
        return WaitAsync().Observed();

        async Task<T> WaitAsync()
        {
            try
            {
                return await response.ConfigureAwait(false);
            }
            finally
            {
                await hold.TakeAgainAsync().ConfigureAwait(false);
            }
        }
    }

    private sealed class Reader<T>(CallHold hold, IAsyncStreamReader<T> inner) : IAsyncStreamReader<T>
    {
        public T Current => inner.Current;

        public Task<bool> MoveNext(CancellationToken cancellationToken)
        {
            Task<bool> next = inner.MoveNext(cancellationToken);
            if (next.IsCompleted)
            {
                return next;
            }

            hold.LetGo();
            return ReturnAsync(hold, next);
        }
    }

    // After the last request, the method waits for the response.
    private sealed class Writer<T>(CallHold hold, IClientStreamWriter<T> inner, Task response) : IClientStreamWriter<T>
    {
        public WriteOptions? WriteOptions
        {
            get => inner.WriteOptions;
            set => inner.WriteOptions = value;
        }

        public Task WriteAsync(T message) => inner.WriteAsync(message);

        public Task WriteAsync(T message, CancellationToken cancellationToken) =>
            inner.WriteAsync(message, cancellationToken);

        public async Task CompleteAsync()
        {
            await inner.CompleteAsync().ConfigureAwait(false);
            hold.LetGo();
            if (response.IsCompleted)
            {
                // It may have come before: then its end has taken nothing again.
                await hold.TakeAgainAsync().ConfigureAwait(false);
            }
        }
    }
}
