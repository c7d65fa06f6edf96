using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Systems;

namespace RpcOverShm.Servers;

/// <summary>
/// The serving side of a connection, and the methods that run for its peer. The peer is a client, or a server that
/// makes callbacks to a channel. Methods are counted separately from calls: a call ends with its End frame, but a
/// method that ignores its token may run on.
/// </summary>
internal sealed partial class ServerConnection
{
    // The objects of a closed connection, besides those of its calls.
    private const int ClosedBytes = 16 << 10;

    private readonly BufferBudget _orphanBudget; // for one-way calls of the user that have outlived their connections
    private volatile bool _isRefusing;
    private volatile bool _hasEndedCalls;
    private long _admitted;
    private long _admittedAtLastCheck;
    private bool _wasIdleAtLastCheck;

    /// <summary>Takes ownership of the link.</summary>
    /// <param name="link">The link.</param>
    /// <param name="settings">The settings of the server, or of the channel's callbacks.</param>
    /// <param name="shared">What the connections of the server share.</param>
    /// <param name="onGoAway">Called when the peer accepts no more calls; null for no handler.</param>
    public ServerConnection(
        PeerLink link, ServerSettings settings, SharedLimits shared, Action<Connection>? onGoAway = null)
    {
        Settings = settings;
        IsSameProcess = link.Identity.ProcessId == Environment.ProcessId;
        _serverGate = shared.ServerGate;
        _connectionGate = new CallGate(Limits.MaxCallsPerConnection)
        {
            IsPaused = () => IsPausedByUnreadResponses,
            LetInLater = QueueResume,
        };
        BufferBudget = new BufferBudget(
            ServerLimits.ConnectionBytesOption, Limits.MaxBytesPerConnection, shared.BufferBudget)
        {
            OnResponsesDrained = QueueResume,
        };
        _orphanBudget = shared.OrphanBudgetOf(link.Identity.User);
        link.OnUnmapped += BufferBudget.End;

        Connection = new Connection(
            link,
            settings.Scheduling,
            isOneWay => new ServerCall(this) { IsOneWay = isOneWay },
            onGoAway,
            new IncomingBounds(BufferBudget, settings.Limits.HeadTimeout));
    }

    public Connection Connection { get; }

    public ServerSettings Settings { get; }

    /// <summary>The session of a client, set before the connection starts; null if the peer is a server.</summary>
    public ServerSession? Session { get; set; }

    /// <summary>
    /// Completes when the connection was closed and the handlers for the end of its session have returned.
    /// </summary>
    public Task SessionEnded { get; set; } = Task.CompletedTask;

    /// <summary>The name of the peer, as methods see it.</summary>
    public string PeerName => Session?.PeerName ?? $"shm:pid={Connection.Peer.ProcessId}";

    /// <summary>
    /// Whether the client is this process, according to the kernel. Its calls may then be nested in calls of the
    /// server.
    /// </summary>
    public bool IsSameProcess { get; }

    /// <summary>Counts the one-way calls whose methods run or wait: they outlive the connection.</summary>
    public DrainCounter OneWayMethodCounter { get; } = new();

    /// <summary>Whether new calls are refused.</summary>
    public bool IsRefusing => _isRefusing;

    /// <summary>The number of calls admitted so far.</summary>
    public long Admitted => Volatile.Read(ref _admitted);

    private ServerLimits Limits => Settings.Limits;

    /// <summary>
    /// Admits a call. Returns null, or the status of the refusal. Only the holder of the reader role calls this.
    /// </summary>
    /// <param name="isInChain">
    /// Whether the call is of a chain. A running method may wait for it, so it is refused only after a stop's grace.
    /// </param>
    /// <param name="isOneWay">
    /// Whether the call is one-way. A refused one-way call is not retried, so a stop refuses it only after the grace
    /// period.
    /// </param>
    public Status? Admit(bool isInChain, bool isOneWay = false)
    {
        if (isOneWay && _orphanBudget.UsedBytes >= _orphanBudget.LimitBytes)
        {
            LimitEvents.Reached(
                Settings.Logger,
                _orphanBudget.Option,
                _orphanBudget.LimitBytes,
                $"{PeerName}: a one-way call was refused because earlier ones of its user, from closed "
                + "connections, use all the memory.");
            return StatusMapping.TooManyOrphans(_orphanBudget);
        }

        // A stop that begins after this check is noticed when the call enters the gate or is counted as pending.
        if (isOneWay || isInChain ? _hasEndedCalls : _isRefusing)
        {
            return StatusMapping.ServerStopping;
        }

        if (isOneWay)
        {
            OneWayMethodCounter.Add();
        }

        Volatile.Write(ref _admitted, _admitted + 1);
        return null;
    }

    /// <summary>
    /// Returns whether no call and no method is active and none has started or ended since the last check; false on the
    /// first. One thread at a time calls this.
    /// </summary>
    public bool CheckQuiet()
    {
        // A method that ignores its token runs on after the end of its call.
        (long admitted, bool isIdle) = (Admitted, PendingOrRunning == 0);
        bool isQuiet = Connection.CheckQuiet()
            && admitted == _admittedAtLastCheck && isIdle && _wasIdleAtLastCheck;
        (_admittedAtLastCheck, _wasIdleAtLastCheck) = (admitted, isIdle);
        return isQuiet;
    }

    /// <summary>
    /// Tells the client to start no more calls here, and refuses those that still arrive or wait for their turn.
    /// </summary>
    public void StopAccepting()
    {
        // GoAway is sent first, so that the client does not retry a refused call on this connection.
        Connection.Sender.SendGoAway();
        _isRefusing = true;
        Interlocked.MemoryBarrier(); // StoreLoad: set before the calls inside are counted.
        RefuseWaiting();
    }

    /// <summary>
    /// Charges the user of a closed connection for a one-way call whose method still runs or waits. Returns false if
    /// the method has ended.
    /// </summary>
    public bool TryOrphan(ServerCall call)
    {
        // Set before the mark, after which another thread may read it. Texts take more memory than in their records.
        long cost = call.Sending.OneWayCost + call.HeadBytes;
        call.Sending.OneWayCost = cost;
        _orphanBudget.TakeAnyway(cost);
        if (call.TryMarkOrphaned())
        {
            return true;
        }

        _orphanBudget.Give(cost);
        return false;
    }

    /// <summary>Takes a one-way call off the counts whose method has ended or will not begin.</summary>
    public void OnOneWayMethodEnded(ServerCall call)
    {
        if (!call.TryMarkMethodEnded())
        {
            _orphanBudget.Give(call.Sending.OneWayCost);
            Connection.Sender.Forget(call);
        }

        OneWayMethodCounter.RemoveByAnyThread();
    }

    /// <summary>
    /// Ends every call of the connection, including one-way calls that have outlived it, and refuses later ones. The
    /// tokens of the methods are cancelled.
    /// </summary>
    public void EndAllCalls(in Status status)
    {
        // StoreLoad: the flag is set before the calls are read. The reader adds a call before it reads the flag.
        _hasEndedCalls = true;
        HostSystem.Current.FenceProcess();
        foreach (ConnectionCall call in Connection.Sender.Incoming.Snapshot())
        {
            ((ServerCall)call).Stop(status);
        }
    }

    /// <summary>
    /// Completes when no method runs, or the connection is closed and no method of a one-way call runs. Called after
    /// <see cref="StopAccepting"/>.
    /// </summary>
    public async Task WhenIdleAsync()
    {
        await Task.WhenAny(WhenEmptyAsync(), Connection.Closed).ConfigureAwait(false);
        await WhenNoOneWayAsync().ConfigureAwait(false);
    }

    /// <summary>
    /// Completes when the connection is closed and no method of a one-way call runs or waits. Until then the objects of
    /// the connection are also charged to its user.
    /// </summary>
    public async Task WhenOrphansEndAsync()
    {
        if (OneWayMethodCounter.Count > 0)
        {
            _orphanBudget.TakeAnyway(ClosedBytes);
            await WhenNoOneWayAsync().ConfigureAwait(false);
            _orphanBudget.Give(ClosedBytes);
        }
    }

    /// <summary>Completes when no method of a one-way call runs or waits.</summary>
    public Task WhenNoOneWayAsync() =>
        OneWayMethodCounter.Total == 0 ? Task.CompletedTask : OneWayMethodCounter.WhenEmptyAsync();
}
