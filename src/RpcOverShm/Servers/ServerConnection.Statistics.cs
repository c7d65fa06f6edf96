using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <content>The figures of the connection for programs that read the statistics of the server.</content>
internal sealed partial class ServerConnection
{
    private LatencyCounts? _latencies;

    /// <summary>The latencies of some calls; null while nobody reads the statistics.</summary>
    public LatencyCounts? Latencies => Volatile.Read(ref _latencies);

    /// <summary>Begins to measure the latencies of some calls, unless that has begun.</summary>
    public void BeginStatistics()
    {
        if (Latencies is null)
        {
            Interlocked.CompareExchange(ref _latencies, new LatencyCounts(), null);
        }
    }

    /// <summary>Ends to measure.</summary>
    public void EndStatistics() => Volatile.Write(ref _latencies, null);

    /// <summary>Returns the figures now. They are read one after another, while calls go on.</summary>
    public ConnectionStatistics GetStatistics()
    {
        long[] latencies = new long[LatencyCounts.CellCount];
        Latencies?.CopyTo(latencies);
        var figures = new StatisticsRow
        {
            Session = Session?.Number ?? 0,
            ProcessId = Connection.Peer.ProcessId,
            UserId = Connection.Peer.User.Number,
            Calls = Admitted,
            InFlight = Connection.IncomingCount,
            Queued = Queued,
            UnsentResponses = UnsentResponses,
            KeptBytes = BufferBudget.UsedBytes,
            UnreadByClient = Connection.UnreadBytes,
            UnreadByServer = Connection.UnreadIncomingBytes,
            ServerRing = Connection.OwnLimits.RingCapacity,
            ClientRing = Connection.PeerLimits.RingCapacity,
            WakeUps = Connection.WakeUps,
            Stalls = Connection.Sender.Stalls,
        };
        return new ConnectionStatistics(figures, latencies);
    }
}
