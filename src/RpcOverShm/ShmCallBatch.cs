using Grpc.Core;
using RpcOverShm.Clients;

namespace RpcOverShm;

/// <summary>
/// Unary calls that go to the server together: recorded through an ordinary generated client, then sent as one
/// publication and with one wake-up, where they fit into the ring; more stream through it. Each call has its own
/// status, deadline and metadata, and the failure of one touches no other. No call of a batch is tried again, whatever
/// the channel's service config says. Recording is thread-safe. Its owner disposes it.
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
    /// Sends what was recorded; once. The task completes when all calls are on their way or have ended, but for those
    /// whose credentials take their time: they follow by themselves. It does not fail for what happens to a call: each
    /// call tells its own end.
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
    /// Cancels the calls of a batch that was not sent: they end <see cref="StatusCode.Cancelled"/>. Does nothing to
    /// calls that were sent.
    /// </summary>
    public void Dispose() => _batch.Dispose();
}
