namespace RpcOverShm.Perf.Recording;

/// <summary>One arm with one kind of caller in one cell: makes its orders, and keeps what its slices came to.</summary>
internal sealed class Entrant
{
    // A one-way load is told how many messages to send. Before its pace is known it sends so few that the slowest arm
    // is soon done, and from then on at most so many times more than the last time.
    private const int FirstGroups = 4;
    private const int LargestGrowth = 8;
    private static readonly TimeSpan s_volumeDeadline = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan s_longestVolume = TimeSpan.FromSeconds(4);

    private readonly CellPlan _plan;
    private readonly LoadOrder _order;
    private readonly int _group;
    private readonly int _rounds;
    private readonly List<RoundFigures> _figures = [];
    private long _lastMessages;
    private double _messagesPerSecond;

    public Entrant(ArmPair pair, CallerKind caller, CellPlan plan, int rounds, LoadShape? shape = null)
    {
        Pair = pair;
        _plan = plan;
        _rounds = rounds;
        _order = plan.Order with
        {
            Shape = shape ?? plan.Order.Shape,
            Caller = caller,
            Calls = shape == LoadShape.Batch ? plan.BatchCalls : plan.Order.Calls,
        };
        _group = _order.Shape == LoadShape.Pump ? PumpSink.GroupOf(_order.SizeBytes, plan.Clients) : 1;
    }

    public ArmPair Pair { get; }

    /// <summary>The name in the tables.</summary>
    public string Label => _order.Shape == LoadShape.Batch ? Pair.Label + "-batch" : Pair.Label;

    public CallerKind Caller => _order.Caller;

    /// <summary>The form of the load: sizes do not change the code that the processes compile for it.</summary>
    public (LoadShape Shape, CallerKind Caller) Form => (_order.Shape, _order.Caller);

    /// <summary>Null while every slice was carried out and every byte was right.</summary>
    public string? Failure { get; set; }

    /// <summary>The figures of each round.</summary>
    public IReadOnlyList<RoundFigures> Figures => _figures;

    /// <summary>The time of each round that the cell compares, in microseconds.</summary>
    public IReadOnlyList<double> Times => [.. _figures.Select(figures => figures.Time(_plan.Time))];

    public double MedianTime => Ratio.MedianOf(Times);

    /// <summary>All calls, or times between messages, of all rounds, in ticks.</summary>
    public LatencyHistogram Histogram { get; } = new();

    /// <summary>For calls on a schedule: times from their actual start.</summary>
    public LatencyHistogram Uncorrected { get; } = new();

    public long ElapsedTicks { get; private set; }

    public double PerSecond => Histogram.Count * (double)Stopwatch.Frequency / ElapsedTicks;

    /// <summary>
    /// Whether the arm did not keep its schedule, if it has one. Its times then grow with the length of the run.
    /// </summary>
    public bool HasMissedRate => PerSecond < _plan.OfferedPerSecond * ReportSchedule.LeastShareMet;

    public ResourceSample ClientUsed { get; private set; }

    public ResourceSample ServerUsed { get; private set; }

    /// <summary>Calls that <see cref="ServerUsed"/> was spent on: those of the lead-ins too.</summary>
    public long ServerMessages { get; private set; }

    /// <summary>Runs the load for about a given time.</summary>
    /// <param name="leadIn">The time before the clock starts.</param>
    /// <param name="duration">The time on the clock.</param>
    /// <param name="isMeasured">
    /// True for a slice that counts: only then is the cell's volume sent, if it has one.
    /// </param>
    /// <exception cref="PeerException">It failed, or bytes were wrong.</exception>
    public async Task<SliceResult> RunAsync(TimeSpan leadIn, TimeSpan duration, bool isMeasured = false)
    {
        long volume = isMeasured ? _plan.VolumeBytes : 0;
        SliceResult slice = await Pair.RunAsync(MakeOrder(leadIn, duration, volume), _plan.Clients);
        LoadResult client = slice.Client;
        _messagesPerSecond = client.Measured * (double)Stopwatch.Frequency / client.ElapsedTicks;
        return slice.Problem() is { } problem ? throw new PeerException($"In {Label}, {problem}.") : slice;
    }

    /// <summary>Records a slice as that of a round.</summary>
    public void Record(SliceResult slice)
    {
        _figures.Add(RoundFigures.Of(slice));
        Histogram.Merge(slice.Client.Times);
        Uncorrected.Merge(slice.Client.Uncorrected);
        ElapsedTicks += slice.Client.ElapsedTicks;
        ClientUsed += slice.Client.Used;
        ServerUsed += slice.Server.Used;
        ServerMessages += slice.Server.Messages;
    }

    private LoadOrder MakeOrder(TimeSpan leadIn, TimeSpan duration, long volumeBytes) =>
        _order.Shape is LoadShape.Echo or LoadShape.Batch
            ? _order with { LeadIn = leadIn, Duration = duration, OfferedPerSecond = _plan.OfferedPerSecond }
            : _order with
            {
                LeadInMessages = 1 + (long)(_messagesPerSecond * leadIn.TotalSeconds / _plan.Clients),
                Messages = volumeBytes > 0 ? MessagesOf(volumeBytes) : MessagesFor(duration),
                Group = _group,
                Duration = volumeBytes > 0 ? s_volumeDeadline : duration,
            };

    // Of each client.
    private long MessagesFor(TimeSpan duration)
    {
        long wanted = _lastMessages == 0
            ? FirstGroups * _group
            : (long)(_messagesPerSecond * duration.TotalSeconds / _plan.Clients);
        long most = _lastMessages == 0 ? wanted : _lastMessages * LargestGrowth;
        return _lastMessages = InGroups(Math.Min(wanted, most));
    }

    // The volume and the longest time are those of all rounds, the volume of all clients too.
    private long MessagesOf(long volumeBytes)
    {
        double most = Math.Min(
            (double)volumeBytes / Math.Max(1, _order.SizeBytes), _messagesPerSecond * s_longestVolume.TotalSeconds);
        return InGroups((long)(most / _rounds / _plan.Clients));
    }

    private long InGroups(long messages) => Math.Max(1, messages / _group) * _group;
}
