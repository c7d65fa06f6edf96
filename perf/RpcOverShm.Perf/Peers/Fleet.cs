namespace RpcOverShm.Perf.Peers;

/// <summary>
/// The running arms, started together before anything is measured, and the directory of their sockets. The baseline
/// runs twice: a second, equal pair of processes shows the differences by chance.
/// </summary>
internal sealed class Fleet(IReadOnlyList<string>? arms = null, int clients = 1) : IAsyncDisposable
{
    public const string Baseline = "pipe";
    public const string BaselineAgain = "pipe-again";
    private const int StartedAtOnce = 8;

    private readonly string _directory = Directory.CreateTempSubdirectory("rpcovershm-perf-").FullName;
    private readonly List<ArmPair> _pairs = [];

    /// <summary>The pairs, in the order of the tables.</summary>
    public IReadOnlyList<ArmPair> Pairs => _pairs;

    /// <summary>Makes a pair of an arm, which the fleet does not start, and which the caller disposes.</summary>
    public ArmPair MakePair(string label, string arm) => new(label, ArmCatalog.Find(arm), _directory, clients);

    public async Task StartAsync()
    {
        foreach (IArm arm in ArmCatalog.All.Where(arm => arms is null || arms.Contains(arm.Name)))
        {
            _pairs.Add(MakePair(arm.Name, arm.Name));
            if (arm.Name == Baseline && (arms is null || arms.Contains(BaselineAgain)))
            {
                _pairs.Add(MakePair(BaselineAgain, Baseline));
            }
        }

        // If all started at once, dozens of processes would share the processors while each has a deadline.
        var few = new ParallelOptions { MaxDegreeOfParallelism = StartedAtOnce };
        await Parallel.ForEachAsync(_pairs, few, async (pair, _) => await pair.StartAsync());
    }

    /// <summary>Measures the resources that all processes together use while they have no orders.</summary>
    public async Task<ResourceSample> MeasureParkedAsync(TimeSpan time)
    {
        ResourceSample before = await SampleAsync();
        await Task.Delay(time);
        return await SampleAsync() - before;
    }

    public async ValueTask DisposeAsync()
    {
        foreach (ArmPair pair in _pairs)
        {
            await pair.DisposeAsync();
        }

        Directory.Delete(_directory, recursive: true);
    }

    private async Task<ResourceSample> SampleAsync()
    {
        ResourceSample sum = default;
        foreach (ArmPair pair in _pairs.Where(pair => pair.IsRunning))
        {
            sum += await pair.SampleAsync();
        }

        return sum;
    }
}
