using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Clients;

/// <summary>
/// Unary calls that are sent together. The first is published at once and wakes the server, which works while more
/// calls are recorded. The publish of later calls is deferred until they have 4 KiB or the batch is sent. Any thread
/// may record a call.
/// </summary>
internal sealed class CallBatch : IDisposable
{
    private readonly UninterruptibleLock _lock = new();
    private readonly List<Task> _starting = []; // the starts that wait for a connection
    private List<ClientCall>? _calls = [];      // null once the batch was sent or disposed

    /// <summary>Adds a call that is about to start. Returns false if the batch was sent or disposed.</summary>
    public bool TryAdd(ClientCall call, out bool isFirst)
    {
        using (_lock.Enter())
        {
            isFirst = _calls?.Count == 0;
            _calls?.Add(call);
            return _calls is not null;
        }
    }

    /// <summary>Forgets a call whose start has thrown.</summary>
    public void Remove(ClientCall call)
    {
        using (_lock.Enter())
        {
            _calls?.Remove(call);
        }
    }

    /// <summary>Records the start of a call of the batch, which completes with the task.</summary>
    public void OnStarted(ClientCall call, Task starting)
    {
        bool isOpen;
        using (_lock.Enter())
        {
            isOpen = _calls is not null;
            if (isOpen && !starting.IsCompleted)
            {
                _starting.Add(starting);
            }
        }

        if (!isOpen)
        {
            // Another thread has sent the batch meanwhile, and has not flushed the connection of this call if the call
            // had none.
            call.Connection?.FlushDeferred();
        }
    }

    /// <summary>
    /// Publishes the remaining calls, and completes when each of them has been sent or queued, or has ended. Returns
    /// false if the batch was sent or disposed before.
    /// </summary>
    public async Task<bool> TrySendAsync()
    {
        if (Close() is not { } calls)
        {
            return false;
        }

        foreach (Connection connection in calls.Select(call => call.Connection).OfType<Connection>().Distinct())
        {
            connection.FlushDeferred();
        }

        // None of these tasks fails: a failure becomes the status of its call.
        await Task.WhenAll(_starting).ConfigureAwait(false);
        return true;
    }

    /// <summary>Cancels the unfinished calls, unless the batch was sent.</summary>
    public void Dispose() => Close()?.ForEach(call => call.Dispose());

    private List<ClientCall>? Close()
    {
        using (_lock.Enter())
        {
            List<ClientCall>? calls = _calls;
            _calls = null;
            return calls;
        }
    }
}
