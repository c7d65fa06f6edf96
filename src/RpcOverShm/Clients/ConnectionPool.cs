using System.Diagnostics;
using Microsoft.Extensions.Logging;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Clients;

/// <summary>
/// Chooses the connection of each call of a channel that may have several, and decides how many there are. A blocking
/// call takes a connection whose reader role is free, because its thread then reads for itself; the extra connections
/// exist for such threads. The subchannel owns the connections. Thread-safe.
/// </summary>
internal sealed class ConnectionPool(Subchannel subchannel, ConnectionPoolSettings settings, ILogger logger)
{
    /// <summary>The outgoing calls of a connection above which awaited calls take the next one.</summary>
    public const int AwaitedBacklog = 100;

    // The place of the connection on which this thread found the reader role free last; a hint for every pool.
    [ThreadStatic]
    private static int s_place;

    private readonly CancellationToken _shutdown = subchannel.ShutdownToken;
    private readonly ConnectionDemand _demand = new();
    private bool _isFailureLogged;

    /// <summary>Gets the connection to start a call on; see <see cref="ConnectionProvider.GetAsync"/>.</summary>
    public ValueTask<Connection> GetAsync(bool isWaitForReady, bool isBlocking)
    {
        Connection[] open = subchannel.Open;
        Connection? chosen = subchannel.OfRunningCallback()
            ?? (isBlocking ? ForBlockingCall(open) : ForAwaitedCall(open));
        return chosen is null ? subchannel.GetAsync(isWaitForReady) : new ValueTask<Connection>(chosen);
    }

    private Connection? ForBlockingCall(Connection[] open)
    {
        // User code that runs inline blocks best where its own thread is the reader: nobody else would read there.
        if (LoopThread.Current is not null
            && Array.Find(open, static one => one.IsReadHere && one.IsOpenForCalls) is { } own)
        {
            return own;
        }

        int last = s_place < open.Length ? s_place : 0;
        for (int i = 0; i < open.Length; i++)
        {
            int place = last + i < open.Length ? last + i : last + i - open.Length;
            if (open[place] is { IsReaderFree: true, IsOpenForCalls: true } free)
            {
                s_place = place;
                return free;
            }
        }

        if (open.Length > 0 && open.Length < settings.MostConnections && _demand.OnWait(Stopwatch.GetTimestamp()))
        {
            PoolWork.Queue(static pool => _ = pool.GrowAsync(), this);
        }

        return last < open.Length && open[last].IsOpenForCalls ? open[last] : null;
    }

    private static Connection? ForAwaitedCall(Connection[] open) =>
        Array.Find(open, static one => one.OutgoingCount <= AwaitedBacklog && one.IsOpenForCalls);

    private async Task GrowAsync()
    {
        try
        {
            if (await subchannel.AddExtraAsync(_shutdown).ConfigureAwait(false) is { } extra)
            {
                _ = RetireWhenSilentAsync(extra);
            }

            _demand.OnOpened(Stopwatch.GetTimestamp());
        }
        catch (Exception exception)
        {
            // No call depends on this attempt: whatever its failure is, the channel goes on with what it has.
            _demand.OnFailed(Stopwatch.GetTimestamp());
            if (!_shutdown.IsCancellationRequested && !Interlocked.Exchange(ref _isFailureLogged, true))
            {
                ShmLog.NoExtraConnection(logger, subchannel.Open.Length, exception.Message);
            }
        }
    }

    private async Task RetireWhenSilentAsync(Connection extra)
    {
        long started;
        do
        {
            started = extra.StartedCount;
            await extra.Closed.WaitAsync(settings.Silence, _shutdown)
                .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            if (extra.Closed.IsCompleted || _shutdown.IsCancellationRequested)
            {
                return;
            }
        }
        while (extra.StartedCount != started || extra.OutgoingCount > 0 || extra.IncomingCount > 0);

        await subchannel.RetireExtraAsync(extra).ConfigureAwait(false);
    }
}

/// <summary>The bounds of a connection pool.</summary>
/// <param name="MostConnections">The most connections at a time, 1 or more.</param>
/// <param name="Silence">An extra connection closes after one to two such times without a call.</param>
internal sealed record ConnectionPoolSettings(int MostConnections, TimeSpan Silence)
{
    private const int MostOfAnyChannel = 8;

    private static readonly TimeSpan s_silence = TimeSpan.FromSeconds(30);

    /// <summary>
    /// Returns the settings for a number of processors: a quarter of them, because each connection occupies one on both
    /// sides and leaves the rest to methods and callers; at least 2, and at most 8.
    /// </summary>
    public static ConnectionPoolSettings For(int processors) =>
        new(Math.Clamp(processors / 4, 2, MostOfAnyChannel), s_silence);
}
