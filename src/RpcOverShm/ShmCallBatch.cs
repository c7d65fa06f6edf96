using Grpc.Core;
using RpcOverShm.Clients;

namespace RpcOverShm;

/// <summary>
/// Unary calls that a generated client records through <see cref="CallInvoker"/> and the channel sends in groups.
/// </summary>
/// <remarks>
/// <para>
/// The first call is sent at once and wakes the server. Later calls follow in groups while the server works, so the
/// server may run them before <see cref="SendAsync"/>, which sends the rest. Each call has its own status, deadline and
/// metadata; if one fails, the others are not affected. The retry policies of the channel do not apply to a batch.
/// </para>
/// <para>Thread-safe. The code that creates a batch disposes it.</para>
/// <code>
/// using ShmCallBatch batch = channel.CreateBatch();
/// var client = new Greeter.GreeterClient(batch.CallInvoker);
/// var calls = names.Select(name => client.SayHelloAsync(new HelloRequest { Name = name })).ToArray();
/// await batch.SendAsync();
/// foreach (var call in calls) { HelloReply reply = await call; }
/// </code>
/// </remarks>
public sealed class ShmCallBatch : IDisposable
{
    private readonly CallBatch _batch;

    internal ShmCallBatch(CallBatch batch, CallInvoker invoker)
    {
        _batch = batch;
        CallInvoker = invoker;
    }

    /// <summary>Gets the invoker that records asynchronous unary calls.</summary>
    /// <remarks>
    /// A call is serialised, and its deadline starts, when it is recorded. The invoker throws
    /// <see cref="InvalidOperationException"/> for a blocking or streaming call, and for any call after the batch was
    /// sent or disposed.
    /// </remarks>
    public CallInvoker CallInvoker { get; }

    /// <summary>Sends the recorded calls that have not been sent yet; may be called once.</summary>
    /// <returns>
    /// A task that completes when every call was sent or has ended. A call that still waits for its credentials is sent
    /// afterwards. The task does not fail if a call fails: each call reports its own status.
    /// </returns>
    /// <exception cref="InvalidOperationException">The batch was already sent or disposed.</exception>
    public async Task SendAsync()
    {
        if (!await _batch.TrySendAsync().ConfigureAwait(false))
        {
            throw new InvalidOperationException("The batch was sent or disposed; it is sent once.");
        }
    }

    /// <summary>Cancels the calls that have not ended, whether the server runs them or not.</summary>
    /// <remarks>
    /// The calls fail with <see cref="StatusCode.Cancelled"/>. Does nothing after <see cref="SendAsync"/>.
    /// </remarks>
    public void Dispose() => _batch.Dispose();
}
