using Grpc.Core;
using RpcOverShm.Clients;

namespace RpcOverShm;

/// <summary>
/// Unary calls that go to the server together: they are recorded through an ordinary generated client. The first call
/// goes out at once and wakes the server; those behind it follow in groups, while the server works. So calls may run
/// before <see cref="SendAsync"/>, which sends those that are left. Each call has its own status, deadline and
/// metadata, and the failure of one touches no other. No call of a batch is retried by the channel's service config.
/// Recording is thread-safe. Its owner disposes it.
/// <code>
/// using ShmCallBatch batch = channel.CreateBatch();
/// var client = new Greeter.GreeterClient(batch.CallInvoker);
/// var calls = names.Select(name => client.SayHelloAsync(new HelloRequest { Name = name })).ToArray();
/// await batch.SendAsync();
/// foreach (var call in calls) { HelloReply reply = await call; }
/// </code>
/// </summary>
public sealed class ShmCallBatch : IDisposable
{
    private readonly CallBatch _batch;

    internal ShmCallBatch(CallBatch batch, CallInvoker invoker)
    {
        _batch = batch;
        CallInvoker = invoker;
    }

    /// <summary>
    /// Records asynchronous unary calls. Requests are serialised, and deadlines run, from then on. A blocking or
    /// streaming call, or any call after the batch was sent or disposed, throws <see cref="InvalidOperationException"/>
    /// at once.
    /// </summary>
    public CallInvoker CallInvoker { get; }

    /// <summary>
    /// Sends the recorded calls that were not sent yet; once. The task completes when all calls are on their way or
    /// have ended, except those that wait for credentials: they follow by themselves. It does not fail for what happens
    /// to a call: each call reports its own end.
    /// </summary>
    /// <exception cref="InvalidOperationException">The batch was sent or disposed before.</exception>
    public async Task SendAsync()
    {
        if (!await _batch.TrySendAsync().ConfigureAwait(false))
        {
            throw new InvalidOperationException("The batch was sent or disposed; it is sent once.");
        }
    }

    /// <summary>
    /// Cancels the calls that have not ended, whether they run already or not: they end
    /// <see cref="StatusCode.Cancelled"/>. Does nothing after <see cref="SendAsync"/>.
    /// </summary>
    public void Dispose() => _batch.Dispose();
}
