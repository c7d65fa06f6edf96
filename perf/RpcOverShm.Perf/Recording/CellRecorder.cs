namespace RpcOverShm.Perf.Recording;

/// <summary>
/// Measures one cell: all its arms with all their callers, each once in every round, in an order that is shuffled anew
/// for each round. A disturbance that is longer than a slice slows neighbours equally, and no arm always follows the
/// same other one.
/// </summary>
internal sealed class CellRecorder
{
    // Warm-up continues until the compilers of both processes were idle for this many slices in a row, except for
    // stragglers. They are idle before they start as well: each tier comes with a delay of 100 ms, so that the first
    // warm-up of an arm has a minimum number of slices.
    private static readonly TimeSpan s_firstSlice = TimeSpan.FromMilliseconds(80);
    private static readonly TimeSpan s_warmSlice = TimeSpan.FromMilliseconds(50);
    private static readonly TimeSpan s_spinDeadline = TimeSpan.FromSeconds(30);
    private const int QuietSlices = 3;
    private const int FewestFirstSlices = 8;
    private const int MostWarmSlices = 15;
    private const int Stragglers = 2;

    private readonly PerfSettings _settings;
    private readonly TimeSpan _slice;
    private readonly Random _order;

    public CellRecorder(CellPlan plan, Fleet fleet, PerfSettings settings)
    {
        Plan = plan;
        _settings = settings;
        TimeSpan slice = settings.Slice * plan.Weight;
        _slice = slice > plan.ShortestSlice ? slice : plan.ShortestSlice;

        // Each cell has its own seed: the order is the same whether or not other cells were measured before.
        string name = plan.Scenario + plan.Name;
        _order = new Random(settings.Seed ^ name.Aggregate(0, (hash, letter) => (hash * 31) + letter));
        ArmPair[] pairs = [.. fleet.Pairs.Where(pair => plan.Arms.Contains(pair.Label))];
        string[] missing = [.. plan.Arms.Except(pairs.Select(pair => pair.Label))];
        if (missing.Length > 0)
        {
            throw new ArgumentException($"The fleet has no {string.Join(", ", missing)}.", nameof(fleet));
        }

        TooSmall = [.. pairs.Select(pair => pair.Arm).Where(arm => arm.LargestBytes < plan.LargestBytes)];
        Entrants = [.. pairs.Where(pair => !TooSmall.Contains(pair.Arm)).SelectMany(EntrantsOf)];
    }

    public CellPlan Plan { get; }

    public IReadOnlyList<Entrant> Entrants { get; }

    /// <summary>Arms of the plan that are left out, because they cannot carry its messages.</summary>
    public IReadOnlyList<IArm> TooSmall { get; }

    /// <summary>Rounds in which the hypervisor took time away; they count like all others.</summary>
    public int RoundsWithSteal { get; private set; }

    /// <summary>Runs every arm until its compilers have settled. Its entrant keeps a failure.</summary>
    public async Task WarmAsync()
    {
        foreach (Entrant entrant in Entrants)
        {
            await GuardAsync(entrant, () => WarmAsync(entrant));
        }
    }

    /// <summary>Measures all rounds.</summary>
    public async Task MeasureAsync()
    {
        await ReviveAsync();
        var spinning = new List<PeerProcess>();
        try
        {
            for (int i = 0; i < Plan.Spinning; i++)
            {
                PeerProcess process = await PeerProcess.StartAsync("spinning");
                spinning.Add(process);
                await process.AskAsync(new LineWriter(PeerVerbs.Spin), s_spinDeadline);
            }

            await MeasureRoundsAsync();
        }
        finally
        {
            foreach (PeerProcess process in spinning)
            {
                await process.DisposeAsync();
            }
        }
    }

    private async Task MeasureRoundsAsync()
    {
        for (int round = 0; round < _settings.Rounds; round++)
        {
            Entrant[] shuffled = [.. Entrants.Where(entrant => entrant.Failure is null)];
            _order.Shuffle(shuffled);
            long steal = CpuTimes.Read().Steal;
            foreach (Entrant entrant in shuffled)
            {
                await GuardAsync(entrant, () => MeasureOnceAsync(entrant));
            }

            RoundsWithSteal += CpuTimes.Read().Steal > steal ? 1 : 0;
        }
    }

    private async Task MeasureOnceAsync(Entrant entrant) =>
        entrant.Record(await entrant.RunAsync(_slice * PerfSettings.LeadInShare, _slice, isMeasured: true));

    // An arm that lost its processes in an earlier cell gets new ones, which have to be warmed.
    private async Task ReviveAsync()
    {
        foreach (IGrouping<ArmPair, Entrant> group in Entrants.GroupBy(entrant => entrant.Pair))
        {
            if (group.Key.IsRunning)
            {
                continue;
            }

            foreach (Entrant entrant in group)
            {
                entrant.Failure = null;
                await GuardAsync(entrant, () => WarmAsync(entrant));
            }
        }
    }

    private static async Task WarmAsync(Entrant entrant)
    {
        if (!entrant.Pair.IsRunning)
        {
            await entrant.Pair.StartAsync();
        }

        bool isFirst = entrant.Pair.NoteWarmed(entrant.Form);
        int fewest = isFirst ? FewestFirstSlices : QuietSlices;
        int quiet = 0;
        for (int i = 0; i < fewest || (i < MostWarmSlices && quiet < QuietSlices); i++)
        {
            SliceResult slice = await entrant.RunAsync(TimeSpan.Zero, isFirst ? s_firstSlice : s_warmSlice);
            quiet = slice.CompiledMethods <= Stragglers ? quiet + 1 : 0;
        }
    }

    // An arm that failed is not used again in this cell: its processes may be gone, and its earlier rounds make no row.
    private static async Task GuardAsync(Entrant entrant, Func<Task> actAsync)
    {
        if (entrant.Failure is not null)
        {
            return;
        }

        try
        {
            await actAsync();
        }
        catch (PeerException exception)
        {
            entrant.Failure = exception.Message;
        }
    }

    private IEnumerable<Entrant> EntrantsOf(ArmPair pair)
    {
        LoadShape shape = Plan.Order.Shape;
        CallerKind[] supported = [.. Enum.GetValues<CallerKind>().Where(caller => pair.Arm.Supports(shape, caller))];
        CallerKind[] wanted = [.. supported.Intersect(Plan.Callers)];
        foreach (CallerKind caller in wanted.Length == 0 ? supported : wanted)
        {
            yield return new Entrant(pair, caller, Plan, _settings.Rounds);
        }

        if (Plan.BatchCalls > 0 && pair.Arm.Supports(LoadShape.Batch, CallerKind.Async))
        {
            yield return new Entrant(pair, CallerKind.Async, Plan, _settings.Rounds, LoadShape.Batch);
        }
    }
}

/// <summary>The time of a slice that is compared between arms.</summary>
internal enum CellTime
{
    /// <summary>The median call, as one caller sees it.</summary>
    MedianCall,

    /// <summary>The mean call, for calls that differ by design.</summary>
    MeanCall,

    /// <summary>
    /// The time on the clock divided by its calls or messages: the throughput of all callers together.
    /// </summary>
    PerMessage,
}
