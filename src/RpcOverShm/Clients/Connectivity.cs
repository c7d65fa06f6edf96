using Grpc.Core;
using RpcOverShm.Links;

namespace RpcOverShm.Clients;

/// <summary>A channel's state, and those who wait for it to change. Any thread may use it.</summary>
internal sealed class Connectivity
{
    private readonly Lock _gate = new();
    private volatile ConnectivityState _state = ConnectivityState.Idle;
    private TaskCompletionSource? _change; // made when somebody waits

    public ConnectivityState State => _state;

    /// <summary>The failure of the last attempt to connect; null without one, or when one has come about.</summary>
    public ConnectException? LastFailure { get; set; }

    /// <summary>Changes the state, unless it is final.</summary>
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

    /// <summary>Completes when the state is, or has been, another one than this.</summary>
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
