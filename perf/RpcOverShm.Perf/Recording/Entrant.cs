using System.Diagnostics;
using RpcOverShm.Perf.Peer.Loads;
using RpcOverShm.Perf.Peer.Recording;
using RpcOverShm.Perf.Peers;

namespace RpcOverShm.Perf.Recording;

/// <summary>One arm with one kind of caller in one cell: makes its orders, and keeps what its slices came to.</summary>
internal sealed class Entrant(ArmPair pair, CallerKind caller, LoadShape shape, int sizeBytes)
{
    // A pump is told how many messages to send. Before its pace is known it sends so few groups that the slowest arm is
    // soon done, and from then on at most so many times more than the last time.
    private const int FirstGroups = 4;
    private const int LargestGrowth = 8;

    private readonly int _group = PumpSink.GroupOf(sizeBytes);
    private readonly List<double> _times = [];
    private long _lastMessages;
    private double _messagesPerSecond;

    public ArmPair Pair => pair;

    public CallerKind Caller => caller;

    /// <summary>Null while every slice was carried out and every byte was right.</summary>
    public string? Failure { get; set; }

    /// <summary>
    /// The time of each round, in microseconds: the median call of an echo, the mean message of a pump.
    /// </summary>
    public IReadOnlyList<double> Times => _times;

    public double MedianTime => Ratio.MedianOf(_times);

    /// <summary>All calls, or times between messages, of all rounds, in ticks.</summary>
    public LatencyHistogram Histogram { get; } = new();

    public long ElapsedTicks { get; private set; }

    public ResourceSample ClientUsed { get; private set; }

    public ResourceSample ServerUsed { get; private set; }

    /// <summary>Calls that <see cref="ServerUsed"/> was spent on: those of the lead-ins too.</summary>
    public long ServerMessages { get; private set; }

    /// <summary>Runs the load for about so long.</summary>
    /// <exception cref="PeerException">It failed, or bytes were wrong.</exception>
    public async Task<SliceResult> RunAsync(TimeSpan leadIn, TimeSpan duration)
    {
        SliceResult slice = await pair.RunAsync(MakeOrder(leadIn, duration));
        LoadResult client = slice.Client;
        _messagesPerSecond = client.Measured * (double)Stopwatch.Frequency / client.ElapsedTicks;
        return slice.Problem() is { } problem ? throw new PeerException($"In {pair.Label}, {problem}.") : slice;
    }

    /// <summary>Counts a slice as the round's.</summary>
    public void Record(SliceResult slice)
    {
        _times.Add(shape == LoadShape.Echo
            ? Microseconds(slice.Client.Times.ValueAt(0.5))
            : Microseconds((double)slice.Client.ElapsedTicks / slice.Client.Measured));
        Histogram.Merge(slice.Client.Times);
        ElapsedTicks += slice.Client.ElapsedTicks;
        ClientUsed += slice.Client.Used;
        ServerUsed += slice.Server.Used;
        ServerMessages += slice.Server.Messages;
    }

    public static double Microseconds(double ticks) => ticks * 1e6 / Stopwatch.Frequency;

    private LoadOrder MakeOrder(TimeSpan leadIn, TimeSpan duration)
    {
        var order = new LoadOrder(shape, caller, sizeBytes);
        return shape == LoadShape.Echo
            ? order with { LeadIn = leadIn, Duration = duration }
            : order with
            {
                LeadInMessages = 1 + (long)(_messagesPerSecond * leadIn.TotalSeconds),
                Messages = MessagesFor(duration),
            };
    }

    private long MessagesFor(TimeSpan duration)
    {
        long wanted = _lastMessages == 0 ? FirstGroups * _group : (long)(_messagesPerSecond * duration.TotalSeconds);
        long most = _lastMessages == 0 ? wanted : _lastMessages * LargestGrowth;
        return _lastMessages = Math.Max(1, Math.Min(wanted, most) / _group) * _group;
    }
}
