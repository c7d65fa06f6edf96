using RpcOverShm.Connections;
using RpcOverShm.Systems;

namespace RpcOverShm.Clients;

/// <summary>Finds the connection for the calls of an invoker. Thread-safe.</summary>
internal abstract class ConnectionProvider
{
    /// <summary>Cancelled when no more calls can start.</summary>
    public abstract CancellationToken ShutdownToken { get; }

    /// <summary>The failure of the last attempt to connect; null if there was none or the attempt succeeded.</summary>
    public ConnectException? LastFailure { get; protected set; }

    /// <summary>Gets the connection to start a call on.</summary>
    /// <param name="isWaitForReady">
    /// Whether to keep waiting after failures. If false, the task fails with the failure of the attempt that it waited
    /// for. During the back-off it fails with the failure of the last attempt.
    /// </param>
    /// <param name="isOneWay">Whether the call is one-way, so that it belongs to no chain of callbacks.</param>
    /// <returns>
    /// A task. This method itself never throws, so that a call which began before a shutdown fails in the same way at
    /// every stage. The task fails with a <see cref="ConnectException"/> if no connection could be made, with an
    /// <see cref="ObjectDisposedException"/> if the channel was shut down, and with an
    /// <see cref="Grpc.Core.RpcException"/> if its status is that of the call.
    /// </returns>
    public abstract ValueTask<Connection> GetAsync(bool isWaitForReady, bool isOneWay = false);

    /// <summary>
    /// Awaits the connection for a wait-for-ready call; <paramref name="connecting"/> comes from
    /// <see cref="GetAsync"/>. Meanwhile, log entries say why there is no connection.
    /// </summary>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public virtual Task<Connection> AwaitReadyAsync(Task<Connection> connecting, CancellationToken cancellationToken) =>
        connecting.WaitAsync(cancellationToken);

    /// <exception cref="ObjectDisposedException">The channel was shut down.</exception>
    public abstract void ThrowIfShutDown();
}
