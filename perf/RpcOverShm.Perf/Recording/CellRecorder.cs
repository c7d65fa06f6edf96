namespace RpcOverShm.Perf.Recording;

/// <summary>
/// Measures one cell: all its arms with all their callers, each once in every round, in an order that is shuffled anew
/// for each round. What disturbs the machine for longer than a slice disturbs neighbours
/// alike, and no arm always follows the same other one.
/// </summary>
internal sealed class CellRecorder
{
    // Warm-up goes on until the compilers of both processes stood still for so many slices in a row, but for
    // stragglers. They also stand still before they start: tiers come with a delay of 100 ms each, so that the first
    // warm-up of an arm has a least number.
    private static readonly TimeSpan s_firstSlice = TimeSpan.FromMilliseconds(80);
    private static readonly TimeSpan s_warmSlice = TimeSpan.FromMilliseconds(50);
    private static readonly TimeSpan s_capacitySlice = TimeSpan.FromMilliseconds(300);
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

        // A seed of its own: the order is the same whether or not other cells were measured before.
        string name = plan.Scenario + plan.Name;
        _order = new Random(settings.Seed ^ name.Aggregate(0, (hash, letter) => (hash * 31) + letter));
        ArmPair[] pairs = [.. fleet.Pairs.Where(pair => plan.Arms.Contains(pair.Label))];
        TooSmall = [.. pairs.Select(pair => pair.Arm).Where(arm => arm.LargestBytes < plan.LargestBytes)];
        Entrants = [.. pairs.Where(pair => !TooSmall.Contains(pair.Arm)).SelectMany(EntrantsOf)];
    }

    public CellPlan Plan { get; }

    public IReadOnlyList<Entrant> Entrants { get; }

    /// <summary>Arms of the plan that are left out, because they cannot carry its messages.</summary>
    public IReadOnlyList<IArm> TooSmall { get; }

    /// <summary>Rounds in which the hypervisor took time away; they count like all others.</summary>
    public int RoundsWithSteal { get; private set; }

    /// <summary>Runs every arm until its compilers have settled. A failure is kept with its entrant.</summary>
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
        await CalibrateAsync();
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

    private async Task CalibrateAsync()
    {
        if (Plan.OfferedShare > 0)
        {
            foreach (Entrant entrant in Entrants)
            {
                await GuardAsync(entrant, () => entrant.CalibrateAsync(s_warmSlice, s_capacitySlice));
            }
        }
    }

    // An arm whose processes were lost in an earlier cell gets new ones, and they are as cold as any.
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

    // An arm that failed is not asked again in this cell: its processes may be gone, and what it did before is no row.
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

/// <summary>What of a slice is compared from arm to arm.</summary>
internal enum CellTime
{
    /// <summary>The median call: what one caller sees.</summary>
    MedianCall,

    /// <summary>The mean call, where calls differ by design.</summary>
    MeanCall,

    /// <summary>The time on the clock over the calls or messages in it: what all callers together get done.</summary>
    PerMessage,
}
