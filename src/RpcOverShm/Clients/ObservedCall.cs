using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <summary>
/// An observed call as its user sees it. Its observation ends before the user learns of the end, or at the same moment
/// on another thread if the call has a stream. It ends all the same if the user never asks, or disposes the call.
/// </summary>
internal sealed class ObservedCall(
    CallObservation observation,
    Func<Task<Metadata>> headers,
    Func<Status> status,
    Func<Metadata> trailers,
    Action dispose)
{
    private static readonly Func<object, Task<Metadata>> s_headers = static call => ((ObservedCall)call).Headers();
    private static readonly Func<object, Status> s_status = static call => ((ObservedCall)call).Status();
    private static readonly Func<object, Metadata> s_trailers = static call => ((ObservedCall)call).Trailers();
    private static readonly Action<object> s_dispose = static call => ((ObservedCall)call).Dispose();

    public AsyncUnaryCall<TResponse> Unary<TResponse>(Task<TResponse> response) =>
        new(EndWithAsync(response).Observed(), s_headers, s_status, s_trailers, s_dispose, this);

    public AsyncClientStreamingCall<TRequest, TResponse> ClientStream<TRequest, TResponse>(
        IClientStreamWriter<TRequest> requests, Task<TResponse> response) =>
        new(requests, EndWithAsync(response).Observed(), s_headers, s_status, s_trailers, s_dispose, this);

    public AsyncServerStreamingCall<TResponse> ServerStream<TResponse>(IAsyncStreamReader<TResponse> responses) =>
        new(Observe(responses), s_headers, s_status, s_trailers, s_dispose, this);

    public AsyncDuplexStreamingCall<TRequest, TResponse> Duplex<TRequest, TResponse>(
        IClientStreamWriter<TRequest> requests, IAsyncStreamReader<TResponse> responses) =>
        new(requests, Observe(responses), s_headers, s_status, s_trailers, s_dispose, this);

    /// <summary>Ends the observation if the call has ended.</summary>
    public void EndIfOver()
    {
        Status end;
        try
        {
            end = status();
        }
        catch (InvalidOperationException)
        {
            // A misuse of the call, which goes on.
            return;
        }

        observation.End(end.StatusCode, end.Detail);
    }

    private Task<Metadata> Headers() => headers();

    private Status Status() => status();

    private Metadata Trailers() => trailers();

    private void Dispose()
    {
        dispose();
        EndIfOver();
    }

    private async Task<TResponse> EndWithAsync<TResponse>(Task<TResponse> response)
    {
        try
        {
            TResponse taken = await response.ConfigureAwait(false);
            observation.End(StatusCode.OK);
            return taken;
        }
        catch (Exception exception)
        {
            observation.End(exception);
            throw;
        }
    }

    private ObservedResponseReader<TResponse> Observe<TResponse>(IAsyncStreamReader<TResponse> responses)
    {
        // The end of a stream that nobody reads to its end.
        _ = EndAfterAsync(((IEndingStream)responses).WhenEndedAsync());
        return new ObservedResponseReader<TResponse>(responses, this);
    }

    private async Task EndAfterAsync(Task ended)
    {
        await ended.ConfigureAwait(false);
        EndIfOver();
    }
}

/// <summary>A stream of responses whose call may end unread.</summary>
internal interface IEndingStream
{
    /// <summary>Completes when the call has ended for its user. Does not fail.</summary>
    Task WhenEndedAsync();
}
