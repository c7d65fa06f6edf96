using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Clients;

namespace RpcOverShm.Retries;

/// <summary>An attempt at a retried call. The attempt is a complete outgoing call of its own.</summary>
/// <param name="Call">The outgoing call.</param>
/// <param name="Response">The single response; null for a response stream.</param>
/// <param name="Responses">The response stream; null for a single response.</param>
/// <param name="Requests">The request stream; null for a single request, which the call already has.</param>
internal sealed record Attempt<TResponse>(
    ClientCall Call,
    Task<TResponse>? Response,
    IAsyncStreamReader<TResponse>? Responses,
    IClientStreamWriter<SerializedMessage>? Requests)
    where TResponse : class
{
    /// <summary>
    /// Whether to watch the headers for the answer: true for client streaming. The response may come much later, and
    /// the requests are kept until a method has answered.
    /// </summary>
    public bool IsAnsweredByHeaders => Response is not null && Requests is not null;

    /// <summary>Waits until a method has answered the attempt, or the attempt has ended. Does not throw.</summary>
    public async Task SettleAsync()
    {
        if (Response is not null)
        {
            // Awaiting the response costs one thread switch less than awaiting the headers. RetriedCall watches the
            // headers separately if they can matter earlier.
            await ((Task)Response).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            return;
        }

        await ((Task)Call.GetHeadersAsync()).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    /// <summary>Waits until the attempt has ended for its caller. Does not throw.</summary>
    public Task EndAsync() =>
        Call is StreamResponseCall<TResponse> stream ? stream.WhenFinishedAsync() : SettleAsync();
}

/// <summary>Makes an attempt at a call. If an outcome is given, it has ended and is not sent.</summary>
internal delegate Attempt<TResponse> AttemptFactory<TResponse>(CallOptions options, CallOutcome? end)
    where TResponse : class;
