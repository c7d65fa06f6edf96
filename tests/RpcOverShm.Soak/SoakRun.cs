namespace RpcOverShm.Soak;

/// <summary>
/// One run of the soak: warm-up, faults, the end of all calls, and the check of ledgers, journals and resources.
/// </summary>
internal sealed class SoakRun : IAsyncDisposable
{
    // The bound of issue and documentation, for a machine without other load.
    private static readonly TimeSpan s_recovery = TimeSpan.FromSeconds(2);
    private static readonly TimeSpan s_warmUp = TimeSpan.FromSeconds(3);
    private static readonly TimeSpan s_settling = TimeSpan.FromSeconds(45);
    private static readonly TimeSpan s_settlingPause = TimeSpan.FromMilliseconds(500);
    private static readonly TimeSpan s_grace = TimeSpan.FromSeconds(1);

    private readonly SoakSettings _settings;
    private readonly TestDirectory _directory = new();
    private readonly Recoveries _recoveries = new();
    private readonly Outages _outages = new();
    private readonly Outages _faultTimes = new();
    private readonly CallBook _book;
    private readonly JournalCheck _journals;
    private readonly LedgerReader _reader;
    private readonly SoakFleet _fleet;
    private readonly Faults _faults;
    private readonly List<string> _report = [];

    public SoakRun(SoakSettings settings)
    {
        _settings = settings;
        _book = new CallBook(
            settings.Seed, _outages, _faultTimes, _recoveries, Findings, () => _fleet!.Server.Peer.Id)
        {
            Recovery = s_recovery * MachineShare.LargestFactor * settings.Patience,
            ConnectTimeout = new ShmStreamOptions().Connect.Timeout * settings.Patience,
        };
        _journals = new JournalCheck(_outages, _faultTimes, Findings);
        _reader = new LedgerReader(_book, _journals, Findings, settings.Patience);
        _fleet = new SoakFleet(settings, _directory.Path, _reader);
        _faults = new Faults(settings, _fleet, _outages, _faultTimes, _recoveries, Findings);
    }

    public Findings Findings { get; } = new();

    public async Task RunAsync()
    {
        _reader.Start();
        await _fleet.StartAsync();
        await _fleet.StartCallsAsync();
        await Task.Delay(s_warmUp);
        await _fleet.DrainAsync();
        await _fleet.CloseAsync();
        Footprint server = await SettledAsync(_fleet.Server);
        Footprint client = await SettledAsync(_fleet.LongLived);

        await _fleet.StartCallsAsync();
        await _faults.RunAsync();
        await EndCallsAsync();
        await CheckResourcesAsync("The long-lived client", _fleet.LongLived, client);
        await CheckResourcesAsync("The last server", _fleet.Server, server);
        await _fleet.StopServerAsync(s_grace);
        _reader.End();
        SoakProcess[] clients = [.. _fleet.Clients];
        _journals.Close();
        _book.Close(process => process.IsServer
            ? process != _fleet.Server && process.WasKilled
            : !clients.Contains(process));
    }

    public string Report() => SoakReport.Text(
        _settings, _fleet, _book, _faults, _recoveries, _journals, _reader, Findings, _report);

    public async ValueTask DisposeAsync()
    {
        await _fleet.DisposeAsync();
        _reader.End();
        _directory.Dispose();
    }

    private async Task EndCallsAsync()
    {
        int[] ids = [.. _fleet.Clients.Append(_fleet.Server).Select(process => process.Peer.Id)];
        var share = new MachineShare(ids);
        long lastFault = Stopwatch.GetTimestamp();
        await _fleet.DrainAsync();
        TimeSpan taken = Stopwatch.GetElapsedTime(lastFault);
        double factor = share.Factor();
        TimeSpan bound = s_recovery * factor * _settings.Patience;
        _report.Add(string.Create(
            CultureInfo.InvariantCulture,
            $"All calls had ended {taken.TotalMilliseconds:0} ms after the last fault; the bound is "
            + $"{s_recovery.TotalSeconds * _settings.Patience} s times {factor:0.0} for the load of other processes."));
        if (taken > bound)
        {
            Findings.Add("late", $"The last call ended {taken.TotalSeconds:0.00} s after the last fault.");
        }

        await _fleet.CloseAsync();
    }

    private async Task CheckResourcesAsync(string name, SoakProcess process, Footprint before)
    {
        Footprint now = await Footprint.ReadAsync(process);
        for (long start = Stopwatch.GetTimestamp();
            !now.IsBackAt(before) && Stopwatch.GetElapsedTime(start) < s_settling;
            now = await Footprint.ReadAsync(process))
        {
            await Task.Delay(s_settlingPause);
        }

        _report.Add($"{name} at first: {before}.");
        _report.Add($"{name} at last:  {now}.");
        if (!now.IsBackAt(before))
        {
            Findings.Add("leaked", $"{name}: {before} became {now}; {process}.");
        }
    }

    /// <summary>Reads the resources when they do not change any more.</summary>
    private static async Task<Footprint> SettledAsync(SoakProcess process)
    {
        Footprint last;
        Footprint now = await Footprint.ReadAsync(process);
        long start = Stopwatch.GetTimestamp();
        do
        {
            await Task.Delay(s_settlingPause);
            last = now;
            now = await Footprint.ReadAsync(process);
        }
        while ((now.Library != last.Library || now.Library.Mappings > 0)
            && Stopwatch.GetElapsedTime(start) < s_settling);
        return now;
    }
}
