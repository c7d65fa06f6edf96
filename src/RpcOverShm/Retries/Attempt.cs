using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Clients;

namespace RpcOverShm.Retries;

/// <summary>One try at a call: a call of its own below.</summary>
/// <param name="Call">The call.</param>
/// <param name="Response">Its one response; null where responses are a stream.</param>
/// <param name="Responses">Its responses; null where there is one.</param>
/// <param name="Requests">Where its requests go; null where there is one, which it has.</param>
internal sealed record Attempt<TResponse>(
    ClientCall Call,
    Task<TResponse>? Response,
    IAsyncStreamReader<TResponse>? Responses,
    IClientStreamWriter<SerializedMessage>? Requests)
    where TResponse : class
{
    /// <summary>
    /// True where the headers say long before the response that a method has answered: while a stream of requests is
    /// being written, which is kept until then.
    /// </summary>
    public bool IsAnsweredByHeaders => Response is not null && Requests is not null;

    /// <summary>
    /// Waits until it is known what the attempt has come to: an answer of a method, or an end. Does not throw.
    /// </summary>
    public async Task SettleAsync()
    {
        if (Response is not null)
        {
            // One hop less than by way of the headers; who asks for them is told by another way.
            await ((Task)Response).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            return;
        }

        await ((Task)Call.GetHeadersAsync()).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    /// <summary>Waits until the attempt has ended for its user. Does not throw.</summary>
    public Task EndAsync() =>
        Call is StreamResponseCall<TResponse> stream ? stream.WhenFinishedAsync() : SettleAsync();
}

/// <summary>Makes an attempt at a call.</summary>
/// <param name="options">Its options.</param>
/// <param name="end">How it has ended already, and is not to be sent; null for one that is.</param>
internal delegate Attempt<TResponse> AttemptFactory<TResponse>(CallOptions options, CallOutcome? end)
    where TResponse : class;
