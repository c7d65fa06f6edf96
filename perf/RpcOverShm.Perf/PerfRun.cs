namespace RpcOverShm.Perf;

/// <summary>
/// One run of the suite or of a part of it: the arms that all scenarios share, and the results so far. They are written
/// after each cell, so that an interrupted run leaves its results.
/// </summary>
internal sealed class PerfRun : IAsyncDisposable
{
    /// <summary>The clients of the largest crowd.</summary>
    public const int CrowdClients = 10;

    private static readonly TimeSpan s_factsDeadline = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan s_othersWatched = TimeSpan.FromSeconds(1);

    private readonly CpuTimes _timesBefore = CpuTimes.Read();
    private readonly List<MeasuredRow> _rows = [];
    private readonly List<ReportBar> _bars = [];
    private readonly List<ReportTable> _tables = [];
    private readonly List<string> _notes = [];
    private readonly Stopwatch _time = Stopwatch.StartNew();
    private MachineFacts? _facts;
    private double? _othersPercent;
    private int _roundsMeasured;
    private int _roundsWithSteal;
    private bool _isFleetStarted;
    private string? _writeFailure; // of the last attempt
    private Fleet? _crowd;

    /// <summary>The run of this process.</summary>
    public static PerfRun Current { get; } = new();

    public PerfSettings Settings { get; } = PerfSettings.FromEnvironment();

    public Fleet Fleet { get; } = new();

    /// <summary>Starts all arms, for the first scenario that needs them.</summary>
    public async Task<Fleet> StartFleetAsync()
    {
        if (!_isFleetStarted)
        {
            _isFleetStarted = true;
            await WatchOthersAsync();
            Say($"Seed {Settings.Seed}; {Settings.SecondsPerRow:0.##} s a row in {Settings.Rounds} rounds.");
            await Fleet.StartAsync();
            await LearnFactsAsync(Fleet.Pairs[0]);
        }

        return Fleet;
    }

    /// <summary>
    /// Starts one server with many clients for each arm that serves crowds, for the first scenario that needs them.
    /// </summary>
    public async Task<Fleet> StartCrowdAsync()
    {
        if (_crowd is null)
        {
            await WatchOthersAsync();
            Say($"Starting {CrowdClients} clients for each of {ArmSets.LargeSenders.Count} servers.");
            _crowd = new Fleet(ArmSets.LargeSenders, CrowdClients);
            await _crowd.StartAsync();
            await LearnFactsAsync(_crowd.Pairs[0]);
        }

        return _crowd;
    }

    /// <summary>Ends these processes, of which there are over a hundred: later scenarios need their memory.</summary>
    public async Task EndCrowdAsync()
    {
        if (_crowd is not null)
        {
            await _crowd.DisposeAsync();
            _crowd = null;
        }
    }

    /// <summary>Asks a running process for its runtime, unless that is known.</summary>
    public async Task LearnFactsAsync(ArmPair pair) =>
        _facts ??= MachineFacts.Collect(await pair.FactsAsync(), Settings);

    /// <summary>
    /// Starts a process to ask for its runtime, for a scenario that measures none of the suite's processes.
    /// </summary>
    public async Task LearnFactsAsync()
    {
        if (_facts is null)
        {
            await WatchOthersAsync();
            await using PeerProcess peer = await PeerProcess.StartAsync("peer");
            LineReader answer = await peer.AskAsync(new LineWriter(PeerVerbs.Facts), s_factsDeadline);
            _facts = MachineFacts.Collect(RuntimeFacts.Read(answer), Settings);
        }
    }

    public void Add(IEnumerable<MeasuredRow> rows, CellRecorder cell)
    {
        _rows.AddRange(rows);
        _roundsMeasured += Settings.Rounds;
        _roundsWithSteal += cell.RoundsWithSteal;
        Write();
    }

    /// <summary>Adds the result of a bar; it replaces an earlier result of the same figure.</summary>
    public void Add(ReportBar bar)
    {
        int known = _bars.FindIndex(other => other.Figure == bar.Figure);
        if (known < 0)
        {
            _bars.Add(bar);
        }
        else
        {
            _bars[known] = bar;
        }

        Write();
    }

    /// <summary>Adds the results of bars, prints them, and asserts them on demand.</summary>
    public void Report(IReadOnlyList<ReportBar> bars) => Assert.Multiple(() =>
    {
        foreach (ReportBar bar in bars)
        {
            Say(bar.ToString());
            Add(bar);
            Assert.That(bar.IsMet || !PerfSettings.AssertsBars, bar.ToString());
        }
    });

    /// <summary>Returns the result of a figure so far.</summary>
    public ReportBar? FindBar(string figure) => _bars.FirstOrDefault(bar => bar.Figure == figure);

    /// <summary>Adds findings with columns of their own.</summary>
    public void Add(ReportTable table)
    {
        _tables.Add(table);
        Write();
    }

    /// <summary>Adds a finding that is a sentence.</summary>
    public void Add(string note)
    {
        _notes.Add(note);
        Write();
    }

    /// <summary>Prints the progress of the run.</summary>
    public static void Say(string text)
    {
        TimeSpan time = Current._time.Elapsed;
        TestContext.Progress.WriteLine(
            string.Create(CultureInfo.InvariantCulture, $"[{(int)time.TotalMinutes:00}:{time:ss}] {text}"));
    }

    public async ValueTask DisposeAsync()
    {
        await Fleet.DisposeAsync();
        await EndCrowdAsync();
        if (_writeFailure is not null)
        {
            throw new IOException(_writeFailure);
        }
    }

    // Before this run has a process of its own that is busy.
    private async Task WatchOthersAsync()
    {
        if (_othersPercent is null)
        {
            CpuTimes before = CpuTimes.Read();
            await Task.Delay(s_othersWatched);
            _othersPercent = CpuTimes.Read().BusyPercentSince(before);
        }
    }

    private void Write()
    {
        CpuTimes now = CpuTimes.Read();
        long all = Math.Max(1, now.All - _timesBefore.All);
        MachineFacts facts = _facts! with
        {
            LoadAverageAfter = MachineFacts.LoadAverage(),
            OthersPercent = _othersPercent ?? 0,
            StealPercent = Math.Round(100.0 * (now.Steal - _timesBefore.Steal) / all, 3),
            RoundsMeasured = _roundsMeasured,
            RoundsWithSteal = _roundsWithSteal,
        };
        var report = new PerfReport(facts, Settings.Seed, [.. _rows.Select(row => row.Row)])
        {
            Bars = _bars,
            Tables = _tables,
            Notes = _notes,
        };
        string folder = Path.Combine(RepositoryRoot.Path, "perf", "results");
        string? failure = ReportFiles.Write(folder, report, _rows);
        if (failure is not null && _writeFailure is null)
        {
            Say(failure);
        }

        _writeFailure = failure;
    }
}

/// <summary>Ends all processes of the run after the last test.</summary>
[SetUpFixture]
public sealed class PerfRunSetUp
{
    [OneTimeTearDown]
    public Task EndRunAsync() => PerfRun.Current.DisposeAsync().AsTask();
}
