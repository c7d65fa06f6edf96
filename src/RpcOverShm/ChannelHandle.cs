using Microsoft.Extensions.Logging;
using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>
/// The right of a channel's users to its connections. The channel refers to it, and so do its invokers and the calls
/// that run; event loops, connections and attempts to connect do not. So the garbage collector finds it when the last
/// of those was dropped without a Dispose of the channel, and it closes the connections then, as an undisposed
/// SafeHandle would. Thread-safe.
/// </summary>
/// <param name="connections">The connections, which do not refer to this object.</param>
/// <param name="callbacks">The settings of the services that the channel offers; null for none.</param>
/// <param name="address">The address, for the log.</param>
/// <param name="logger">The logger of the channel.</param>
internal sealed class ChannelHandle(
    Subchannel connections, ServerSettings? callbacks, string address, ILogger logger) : Reclaimable
{
    private Task? _shutdown;

    public bool IsShutDown => Volatile.Read(ref _shutdown) is not null;

    /// <summary>Cancels the running calls and closes the connections. Each caller gets the same task.</summary>
    public Task ShutDown()
    {
        if (Volatile.Read(ref _shutdown) is { } running)
        {
            return running;
        }

        var source = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        if (Interlocked.CompareExchange(ref _shutdown, source.Task, null) is { } other)
        {
            return other;
        }

        MarkClosed();
        _ = CloseAsync(source);
        return source.Task;
    }

    protected override void CloseDropped()
    {
        if (connections.IsInUse)
        {
            ShmLog.ChannelDropped(logger, address);
        }

        ShutDown();
    }

    private async Task CloseAsync(TaskCompletionSource done)
    {
        Connection[] open = connections.ShutDown();
        foreach (Connection connection in open)
        {
            // Tells the server that the client closes the connection on purpose.
            connection.Sender.SendGoAway();
            connection.Close(Subchannel.ChannelDisposed);
        }

        foreach (Connection connection in open)
        {
            await connection.Closed.ConfigureAwait(false);
        }

        connections.Dispose();
        if (callbacks is not null)
        {
            await EndInstancesAsync(callbacks).ConfigureAwait(false);
        }

        done.SetResult();
    }

    // For a short time: a method that still runs may ignore its token, or may be the one that shuts the channel down.
    private static async Task EndInstancesAsync(ServerSettings callbacks)
    {
        try
        {
            await callbacks.Instances.EndAsync(callbacks.Logger).WaitAsync(WaitBounds.SafetyTimeout)
                .ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            // They are released when the last method has returned.
        }
    }
}
