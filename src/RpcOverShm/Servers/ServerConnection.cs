using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Sending;

namespace RpcOverShm.Servers;

/// <summary>
/// One client's connection with the methods that run for it. Methods are counted apart from calls: a call ends when its
/// client was told so, and its method may go on for as long as it ignores its token.
/// </summary>
internal sealed class ServerConnection
{
    private volatile bool _isRefusing;

    /// <param name="link">The link; owned from here on.</param>
    /// <param name="number">Of the connection: another one for each of a server.</param>
    /// <param name="settings">Of the server.</param>
    public ServerConnection(PeerLink link, long number, ServerSettings settings)
    {
        Settings = settings;
        PeerName = $"shm:pid={link.Identity.ProcessId};connection={number}";
        Connection = new Connection(link, settings.Scheduling, _ => new ServerCall(this), onGoAway: null);
    }

    public Connection Connection { get; }

    public ServerSettings Settings { get; }

    /// <summary>The client, as methods see it.</summary>
    public string PeerName { get; }

    /// <summary>True once new calls are refused.</summary>
    public bool IsRefusing => _isRefusing;

    /// <summary>
    /// Methods that run, or wait for the end of their request. The holder of the reader role adds; a method that ends
    /// removes itself, wherever it runs.
    /// </summary>
    public DrainCounter Running { get; } = new();

    /// <summary>
    /// Counts a method that is to run. Null when it may, else why not. By the holder of the reader role.
    /// </summary>
    public Status? TryRun()
    {
        // Counted before the look: whoever stops the server sets the flag before it counts, with a fence for both.
        Running.Add();
        Status? refusal = _isRefusing
            ? StatusMapping.ServerStopping
            : Running.Count > Settings.MaxCalls ? StatusMapping.TooManyRunning(Settings.MaxCalls) : null;
        if (refusal is not null)
        {
            Running.RemoveByAnyThread();
        }

        return refusal;
    }

    /// <summary>Tells the client to start no more calls here, and refuses those that are on their way.</summary>
    public void StopAccepting()
    {
        // First, so that a call which is refused is not made again on this very connection.
        Connection.SendGoAway();
        _isRefusing = true;
        Interlocked.MemoryBarrierProcessWide();
    }

    /// <summary>Ends every call that still lives; its method hears of it by its token.</summary>
    public void EndAllCalls(in Status status)
    {
        foreach (ConnectionCall call in Connection.IncomingSnapshot())
        {
            ((ServerCall)call).Stop(status);
        }
    }

    /// <summary>
    /// Completes when no method runs, or the connection is closed. After <see cref="StopAccepting"/>.
    /// </summary>
    public Task WhenIdleAsync() => Task.WhenAny(Running.WhenEmptyAsync(), Connection.Closed);
}
