using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Sending;

namespace RpcOverShm.Servers;

/// <summary>
/// A connection whose peer makes calls, and the methods that run for it: that of a client, or that of a server whose
/// callbacks a channel serves. Methods are counted separately from calls: a call ends with its End frame, but its
/// method may run on if it ignores its token.
/// </summary>
internal sealed partial class ServerConnection
{
    private volatile bool _isRefusing;
    private long _admitted;
    private long _admittedAtLastLook;
    private bool _wasIdleAtLastLook;

    /// <summary>Takes ownership of the link.</summary>
    /// <param name="link">The link.</param>
    /// <param name="settings">The settings of the server, or of the channel's callbacks.</param>
    /// <param name="server">The gate of the calls of all connections.</param>
    /// <param name="budget">The bytes that all connections may make this process keep.</param>
    /// <param name="onGoAway">Hears that the peer takes no more calls; null for nobody.</param>
    public ServerConnection(
        PeerLink link,
        ServerSettings settings,
        CallGate server,
        BufferBudget budget,
        Action<Connection>? onGoAway = null)
    {
        Settings = settings;
        IsOfThisProcess = link.Identity.ProcessId == Environment.ProcessId;
        _server = server;
        _gate = new CallGate(Limits.PerConnection) { IsHeld = () => IsHeldByAnswers, LetInLater = GoOnLater };
        Budget = new BufferBudget(ServerLimits.ConnectionBytesOption, Limits.ConnectionBytes, budget)
        {
            OnAnswersSank = GoOnLater,
        };
        Action? giveBack = link.OnUnmapped;
        link.OnUnmapped = () =>
        {
            Budget.End();
            if (giveBack is not null)
            {
                OneWay.RunWhenEmpty(giveBack);
            }
        };

        Connection = new Connection(
            link,
            settings.Scheduling,
            charge => new ServerCall(this, charge) { IsOneWay = charge is not null },
            onGoAway,
            new IncomingBounds(Budget, settings.Limits.HeadTimeout));
    }

    public Connection Connection { get; }

    public ServerSettings Settings { get; }

    /// <summary>The session of a client, set before the connection starts; null if the peer is a server.</summary>
    public ServerSession? Session { get; set; }

    /// <summary>
    /// Completes when the connection was closed and the handlers for the end of its session have returned.
    /// </summary>
    public Task Forgotten { get; set; } = Task.CompletedTask;

    /// <summary>The name of the peer, as methods see it.</summary>
    public string PeerName => Session?.PeerName ?? $"shm:pid={Connection.Peer.ProcessId}";

    /// <summary>
    /// Whether the client is this process, as the kernel says, so that its calls may be nested in calls of the server.
    /// </summary>
    public bool IsOfThisProcess { get; }

    /// <summary>The one-way calls whose methods run or wait.</summary>
    public OneWayCalls OneWay { get; } = new();

    /// <summary>Whether new calls are refused.</summary>
    public bool IsRefusing => _isRefusing;

    /// <summary>The calls that were admitted so far.</summary>
    public long Admitted => Volatile.Read(ref _admitted);

    private ServerLimits Limits => Settings.Limits;

    /// <summary>
    /// Admits a call. Returns null, or the status of the refusal. Only the holder of the reader role calls this.
    /// </summary>
    /// <param name="isOfChain">
    /// Whether a callback has made the call, so that a running method waits for it: it is not refused.
    /// </param>
    /// <param name="oneWay">
    /// The call if it is one-way; null for any other. It would be lost, so it is refused only after a stop's grace.
    /// </param>
    public Status? TryAdmit(bool isOfChain, ServerCall? oneWay = null)
    {
        // A stop that begins now is seen again when the call is counted: at the gate, or because its request is large.
        if (oneWay is not null ? !OneWay.TryAdd(oneWay) : _isRefusing && !isOfChain)
        {
            return StatusMapping.ServerStopping;
        }

        Volatile.Write(ref _admitted, _admitted + 1);
        return null;
    }

    /// <summary>
    /// Whether no call and no method lives, and none has begun or ended since the last look; false at the first look.
    /// One thread at a time looks.
    /// </summary>
    public bool IsQuietSinceLastLook()
    {
        // A method that ignores its token runs on after the end of its call.
        (long admitted, bool isIdle) = (Admitted, Running == 0);
        bool isQuiet = Connection.IsQuietSinceLastLook()
            && admitted == _admittedAtLastLook && isIdle && _wasIdleAtLastLook;
        (_admittedAtLastLook, _wasIdleAtLastLook) = (admitted, isIdle);
        return isQuiet;
    }

    /// <summary>
    /// Tells the client to start no more calls here, and refuses those that still arrive or wait for their turn.
    /// </summary>
    public void StopAccepting()
    {
        // GoAway is sent first, so that the client does not retry a refused call on this connection.
        Connection.SendGoAway();
        _isRefusing = true;
        Interlocked.MemoryBarrier(); // StoreLoad: set before the calls inside are counted.
        RefuseWaiting();
    }

    /// <summary>Ends every call of the connection. The tokens of the methods fire.</summary>
    public void EndAllCalls(in Status status)
    {
        foreach (ConnectionCall call in Connection.IncomingSnapshot())
        {
            ((ServerCall)call).Stop(status);
        }

        OneWay.Stop(status);
    }

    /// <summary>
    /// Completes when no method runs, or the connection is closed and no method of a one-way call runs. Called after
    /// <see cref="StopAccepting"/>.
    /// </summary>
    public async Task WhenIdleAsync()
    {
        await Task.WhenAny(WhenEmptyAsync(), Connection.Closed).ConfigureAwait(false);
        await OneWay.WhenEmptyAsync().ConfigureAwait(false);
    }
}
