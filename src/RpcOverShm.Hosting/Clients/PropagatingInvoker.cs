using Grpc.Core;
using RpcOverShm.Hosting.Calls;

namespace RpcOverShm.Hosting.Clients;

/// <summary>
/// Gives calls the deadline and the cancellation of the server's call in whose method they are made. A call that has a
/// token of its own gets a linked one, which is disposed when the call has ended or is disposed. Thread-safe.
/// </summary>
/// <param name="inner">Makes the calls.</param>
/// <param name="allowsNone">Whether calls outside of a method are ordinary calls.</param>
internal sealed class PropagatingInvoker(CallInvoker inner, bool allowsNone) : CallInvoker
{
    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        using CancellationTokenSource? link = Propagate(ref options);
        return inner.BlockingUnaryCall(method, host, options, request);
    }

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        CancellationTokenSource? link = Propagate(ref options);
        AsyncUnaryCall<TResponse> call = inner.AsyncUnaryCall(method, host, options, request);
        return link is null
            ? call
            : new AsyncUnaryCall<TResponse>(
                DisposeAfter(call.ResponseAsync, link),
                call.ResponseHeadersAsync,
                call.GetStatus,
                call.GetTrailers,
                () => End(call, link));
    }

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        CancellationTokenSource? link = Propagate(ref options);
        AsyncServerStreamingCall<TResponse> call = inner.AsyncServerStreamingCall(method, host, options, request);
        return link is null
            ? call
            : new AsyncServerStreamingCall<TResponse>(
                new LinkedReader<TResponse>(call.ResponseStream, link),
                call.ResponseHeadersAsync,
                call.GetStatus,
                call.GetTrailers,
                () => End(call, link));
    }

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        CancellationTokenSource? link = Propagate(ref options);
        AsyncClientStreamingCall<TRequest, TResponse> call = inner.AsyncClientStreamingCall(method, host, options);
        return link is null
            ? call
            : new AsyncClientStreamingCall<TRequest, TResponse>(
                call.RequestStream,
                DisposeAfter(call.ResponseAsync, link),
                call.ResponseHeadersAsync,
                call.GetStatus,
                call.GetTrailers,
                () => End(call, link));
    }

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        CancellationTokenSource? link = Propagate(ref options);
        AsyncDuplexStreamingCall<TRequest, TResponse> call = inner.AsyncDuplexStreamingCall(method, host, options);
        return link is null
            ? call
            : new AsyncDuplexStreamingCall<TRequest, TResponse>(
                call.RequestStream,
                new LinkedReader<TResponse>(call.ResponseStream, link),
                call.ResponseHeadersAsync,
                call.GetStatus,
                call.GetTrailers,
                () => End(call, link));
    }

    // Returns the task itself: nobody may await one of its own, whose exception would then be unobserved.
    private static Task<T> DisposeAfter<T>(Task<T> response, CancellationTokenSource link)
    {
        if (response.IsCompleted)
        {
            link.Dispose();
        }
        else
        {
            response.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(link.Dispose);
        }

        return response;
    }

    private static void End(IDisposable call, CancellationTokenSource link)
    {
        call.Dispose();
        link.Dispose();
    }

    /// <summary>Returns the source of the token that a call gets, if that had to be made.</summary>
    private CancellationTokenSource? Propagate(ref CallOptions options)
    {
        if (CurrentCall.Context is not { } context)
        {
            return allowsNone
                ? null
                : throw new InvalidOperationException(
                    "The client propagates the call of a server, and there is none: the calling code does not run in a "
                    + "method of a server that was added with AddShmServer, or the method has ended. For calls "
                    + $"elsewhere set {nameof(ShmCallContextPropagationOptions.SuppressContextNotFoundErrors)} in "
                    + $"{nameof(ShmClientBuilder.EnableCallContextPropagation)}.");
        }

        // Without a deadline of the server's call, that of the channel's options may still apply.
        if (context.Deadline < (options.Deadline ?? DateTime.MaxValue))
        {
            options = options.WithDeadline(context.Deadline);
        }

        if (!options.CancellationToken.CanBeCanceled)
        {
            options = options.WithCancellationToken(context.CancellationToken);
            return null;
        }

        var link = CancellationTokenSource.CreateLinkedTokenSource(
            options.CancellationToken, context.CancellationToken);
        options = options.WithCancellationToken(link.Token);
        return link;
    }

    /// <summary>Reads a stream, and disposes the source of its call's token at the end.</summary>
    private sealed class LinkedReader<T>(IAsyncStreamReader<T> stream, CancellationTokenSource link)
        : IAsyncStreamReader<T>
    {
        public T Current => stream.Current;

        public async Task<bool> MoveNext(CancellationToken cancellationToken)
        {
            bool goesOn = false;
            try
            {
                goesOn = await stream.MoveNext(cancellationToken).ConfigureAwait(false);
                return goesOn;
            }
            finally
            {
                if (!goesOn)
                {
                    link.Dispose();
                }
            }
        }
    }
}
