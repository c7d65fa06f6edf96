using Grpc.Core;
using RpcOverShm.Links;

namespace RpcOverShm.Clients;

/// <summary>The connectivity state of a channel and the waiters for its change. Any thread may use it.</summary>
internal sealed class Connectivity
{
    private readonly Lock _gate = new();
    private volatile ConnectivityState _state = ConnectivityState.Idle;
    private TaskCompletionSource? _change; // created for the first waiter

    public ConnectivityState State => _state;

    /// <summary>The failure of the last attempt to connect; null if there was none or the attempt succeeded.</summary>
    public ConnectException? LastFailure { get; set; }

    /// <summary>Changes the state, unless the channel is shut down.</summary>
    public void Set(ConnectivityState state)
    {
        TaskCompletionSource? change;
        lock (_gate)
        {
            if (_state == state || _state == ConnectivityState.Shutdown)
            {
                return;
            }

            _state = state;
            change = _change;
            _change = null;
        }

        change?.SetResult();
    }

    /// <summary>Completes when the state differs from the given one, even if only briefly.</summary>
    public Task WhenNotAsync(ConnectivityState last, CancellationToken cancellationToken)
    {
        Task change;
        lock (_gate)
        {
            if (_state != last)
            {
                return Task.CompletedTask;
            }

            _change ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            change = _change.Task;
        }

        return change.WaitAsync(cancellationToken);
    }
}
