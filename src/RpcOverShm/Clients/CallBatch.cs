using RpcOverShm.Connections;

namespace RpcOverShm.Clients;

/// <summary>
/// Unary calls that are started together: the first is published at once and wakes the server; those behind it are
/// published when some have come together, or when the batch is sent. So the server works while more are recorded. Any
/// thread may record.
/// </summary>
internal sealed class CallBatch : IDisposable
{
    private readonly Lock _gate = new();
    private readonly List<Task> _starting = []; // of calls that wait for a connection
    private List<ClientCall>? _calls = [];      // null once the batch was sent or disposed

    /// <summary>Enters a call that is about to be started. False when the batch was sent or disposed.</summary>
    /// <param name="call">The call.</param>
    /// <param name="isFirst">Whether no other was entered before.</param>
    public bool TryAdd(ClientCall call, out bool isFirst)
    {
        lock (_gate)
        {
            isFirst = _calls?.Count == 0;
            _calls?.Add(call);
            return _calls is not null;
        }
    }

    /// <summary>A call of the batch is started, or will be when the task completes.</summary>
    public void OnStarted(ClientCall call, Task starting)
    {
        bool isOpen;
        lock (_gate)
        {
            isOpen = _calls is not null;
            if (isOpen && !starting.IsCompleted)
            {
                _starting.Add(starting);
            }
        }

        if (!isOpen)
        {
            // The batch was sent by another thread, which did not see this call.
            call.Connection?.FlushDeferred();
        }
    }

    /// <summary>
    /// Publishes the calls that are left. Completes when all are on their way or have ended. False when the batch was
    /// sent or disposed before.
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

        // None of these fails: what goes wrong becomes the status of its call.
        await Task.WhenAll(_starting).ConfigureAwait(false);
        return true;
    }

    /// <summary>Cancels the calls that have not ended, unless the batch was sent.</summary>
    public void Dispose() => Close()?.ForEach(call => call.Dispose());

    private List<ClientCall>? Close()
    {
        lock (_gate)
        {
            List<ClientCall>? calls = _calls;
            _calls = null;
            return calls;
        }
    }
}
