namespace RpcOverShm.FunctionalTests.Connectivity;

/// <summary>
/// Threads that make blocking calls one after another and check each answer, until the end of the load. A thread ends
/// early if its channel is disposed.
/// </summary>
internal sealed class BlockingLoad : IAsyncDisposable
{
    private readonly List<RpcException> _failures = [];
    private readonly Task _callers;
    private volatile bool _isEnding;
    private long _answers;

    public BlockingLoad(ChannelBase channel, int callers)
    {
        var client = new ScriptClient(channel.CreateCallInvoker());
        _callers = Task.WhenAll(
            Enumerable.Range(0, callers).Select(caller => Timeouts.OnThread(() => Call(client, (ulong)caller))));
    }

    /// <summary>The calls that failed so far.</summary>
    public IReadOnlyList<RpcException> Failures
    {
        get
        {
            lock (_failures)
            {
                return [.. _failures];
            }
        }
    }

    /// <summary>Waits for so many further answers.</summary>
    public Task MakeAsync(int calls)
    {
        long expected = Interlocked.Read(ref _answers) + calls;
        return Timeouts.Eventually(() => Interlocked.Read(ref _answers) >= expected, "calls are answered");
    }

    /// <summary>Ends the load; fails if an answer was wrong.</summary>
    public Task EndAsync()
    {
        _isEnding = true;
        return _callers.Bounded();
    }

    public async ValueTask DisposeAsync() => await EndAsync();

    private void Call(ScriptClient client, ulong seed)
    {
        for (int size = 0; !_isEnding; size = (size + 1) % 500)
        {
            try
            {
                Payload answer = client.Unary(Payloads.OfSize(size, seed));
                if (!answer.IsOfSize(size, seed))
                {
                    throw new InvalidOperationException($"Caller {seed} got another answer to {size} bytes.");
                }

                Interlocked.Increment(ref _answers);
            }
            catch (RpcException failure)
            {
                lock (_failures)
                {
                    _failures.Add(failure);
                }

                Thread.Yield();
            }
            catch (ObjectDisposedException)
            {
                return;
            }
        }
    }
}
