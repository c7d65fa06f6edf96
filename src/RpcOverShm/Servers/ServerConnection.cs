using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Sending;

namespace RpcOverShm.Servers;

/// <summary>
/// A connection whose peer makes calls, and the methods that run for it: that of a client, or that of a server whose
/// callbacks a channel serves. Methods are counted separately from calls: a call ends with its End frame, but its
/// method may run on if it ignores its token.
/// </summary>
internal sealed class ServerConnection
{
    // The objects of a closed connection, besides those of its calls.
    private const int ClosedBytes = 16 << 10;

    private Dictionary<string, OrderedStarts>? _orders; // by service
    private readonly BufferBudget _left; // of the user's one-way calls whose connections are closed
    private volatile bool _isRefusing;
    private volatile bool _isRefusingOneWay;
    private long _changesAtLastLook;

    /// <summary>Takes ownership of the link.</summary>
    public ServerConnection(
        PeerLink link, ServerSettings settings, CallPlaces places, Action<Connection>? onGoAway = null)
    {
        Settings = settings;
        IsOfThisProcess = link.Identity.ProcessId == Environment.ProcessId;
        Queue = new CallQueue(this, places);
        _left = places.LeftBy(link.Identity.UserId);
        link.OnUnmapped += Queue.Budget.End;

        Connection = new Connection(
            link,
            settings.Scheduling,
            isOneWay => new ServerCall(this) { IsOneWay = isOneWay },
            onGoAway,
            new IncomingBounds(Queue.Budget, settings.Limits.HeadTimeout));
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

    /// <summary>The calls that wait for their turn.</summary>
    public CallQueue Queue { get; }

    /// <summary>
    /// Counts the one-way calls among those of <see cref="Running"/>: they outlive the connection.
    /// </summary>
    public DrainCounter OneWay { get; } = new();

    /// <summary>Whether new calls are refused.</summary>
    public bool IsRefusing => _isRefusing;

    /// <summary>
    /// The methods that run, or wait for their turn or for the end of their request. The holder of the reader role
    /// adds; any thread removes a method that ends.
    /// </summary>
    public DrainCounter Running { get; } = new();

    /// <summary>
    /// Admits a call: counts its method. Returns null, or the status of the refusal. Only the holder of the reader role
    /// calls this.
    /// </summary>
    /// <param name="isOfChain">
    /// Whether a callback has made the call, so that a running method waits for it: it is not refused.
    /// </param>
    /// <param name="isOneWay">
    /// Whether the call is one-way. Its client does not make it again, so it is refused only after a stop's grace.
    /// </param>
    public Status? TryAdmit(bool isOfChain, bool isOneWay = false)
    {
        if (isOneWay && _left.UsedBytes >= _left.LimitBytes)
        {
            LimitEvents.Reached(
                Settings.Logger,
                _left.Option,
                _left.LimitBytes,
                $"{PeerName}: a one-way call was refused, because closed connections of its user have left so many.");
            return StatusMapping.TooManyLeft(_left);
        }

        // StoreLoad: counts before it reads the flag. StopAccepting sets the flag before WhenIdleAsync reads the count,
        // and its process-wide fence serves both sides.
        Running.Add();
        if (isOneWay ? !_isRefusingOneWay : !_isRefusing || isOfChain)
        {
            if (isOneWay)
            {
                OneWay.Add();
            }

            return null;
        }

        Running.RemoveByAnyThread();
        return StatusMapping.ServerStopping;
    }

    /// <summary>
    /// Whether no call and no method lives, and none has begun or ended since the last look; false at the first look.
    /// One thread at a time looks.
    /// </summary>
    public bool IsQuietSinceLastLook()
    {
        // A method that ignores its token runs on after the end of its call.
        long changes = Running.Changes;
        bool isQuiet = Connection.IsQuietSinceLastLook() && changes == _changesAtLastLook && Running.Count == 0;
        _changesAtLastLook = changes;
        return isQuiet;
    }

    /// <summary>
    /// Has the method of a call start after those of the calls to its service that came before. A call that another
    /// one may wait for starts at once. Only the holder of the reader role calls this.
    /// </summary>
    public void AddInOrder(ServerCall call, string serviceName)
    {
        if (call.Turn is { IsOfChain: true })
        {
            return;
        }

        _orders ??= new Dictionary<string, OrderedStarts>(StringComparer.Ordinal);
        if (!_orders.TryGetValue(serviceName, out OrderedStarts? order))
        {
            order = new OrderedStarts();
            _orders.Add(serviceName, order);
        }

        order.Add(call.Turn ??= new CallTurn(call));
    }

    /// <summary>
    /// Tells the client to start no more calls here, and refuses those that still arrive or wait for their turn.
    /// </summary>
    public void StopAccepting()
    {
        // GoAway is sent first, so that the client does not retry a refused call on this connection.
        Connection.SendGoAway();
        _isRefusing = true;
        Interlocked.MemoryBarrierProcessWide();
        Queue.Stop();
    }

    /// <summary>
    /// Counts a one-way call, whose method runs or waits, for the user of the connection, which is closed. Returns
    /// false if the method is over.
    /// </summary>
    public bool LeaveBehind(ServerCall call)
    {
        // Set before the mark, after which another thread may read it. Metadata takes more memory than in its records.
        long cost = call.Sending.OneWayCost + MetadataCodec.MeasureKeptBytes(call.RequestHeaders);
        call.Sending.OneWayCost = cost;
        _left.TakeAnyway(cost);
        if (call.TryMarkLeft())
        {
            return true;
        }

        _left.Give(cost);
        return false;
    }

    /// <summary>Uncounts a one-way call whose method has ended or will not begin.</summary>
    public void OnOneWayOver(ServerCall call)
    {
        if (!call.TryMarkOver())
        {
            _left.Give(call.Sending.OneWayCost);
            Connection.Forget(call);
        }

        OneWay.RemoveByAnyThread();
    }

    /// <summary>
    /// Ends every call of the connection, also the one-way ones that its close has left, and refuses later ones. The
    /// tokens of the methods fire.
    /// </summary>
    public void EndAllCalls(in Status status)
    {
        // StoreLoad: the flag is set before the calls are read. The reader adds a call before it reads the flag.
        _isRefusingOneWay = true;
        Interlocked.MemoryBarrierProcessWide();
        foreach (ConnectionCall call in Connection.IncomingSnapshot())
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
        await Task.WhenAny(Running.WhenEmptyAsync(), Connection.Closed).ConfigureAwait(false);
        await WhenNoOneWayAsync().ConfigureAwait(false);
    }

    /// <summary>
    /// Completes when no method of a one-way call runs or waits, after the connection was closed. Until then its own
    /// objects count for its user, too.
    /// </summary>
    public async Task WhenLeftAsync()
    {
        if (OneWay.Count > 0)
        {
            _left.TakeAnyway(ClosedBytes);
            await WhenNoOneWayAsync().ConfigureAwait(false);
            _left.Give(ClosedBytes);
        }
    }

    /// <summary>Completes when no method of a one-way call runs or waits.</summary>
    public Task WhenNoOneWayAsync() => OneWay.Total == 0 ? Task.CompletedTask : OneWay.WhenEmptyAsync();
}
