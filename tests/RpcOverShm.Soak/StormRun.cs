using System.Text;

namespace RpcOverShm.Soak;

/// <summary>
/// One storm of callbacks, without faults: every call of every client makes the server call the client back. Ends with
/// the check of ledgers and journals.
/// </summary>
internal sealed class StormRun : IAsyncDisposable
{
    private static readonly TimeSpan s_grace = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_look = TimeSpan.FromMilliseconds(100);

    // A call takes milliseconds. One that has not ended after this time never does.
    private static readonly TimeSpan s_stuck = TimeSpan.FromSeconds(20);

    private readonly SoakSettings _settings;
    private readonly TestDirectory _directory = new();
    private readonly JournalCheck _journals;
    private readonly LedgerReader _reader;
    private readonly SoakFleet _fleet;

    public StormRun(SoakSettings settings)
    {
        _settings = settings;
        var outages = new Outages();
        Book = new CallBook(
            settings.Seed, outages, outages, new Recoveries(), Findings, () => _fleet!.Server.Peer.Id)
        {
            ConnectTimeout = new ShmStreamOptions().Connect.Timeout,
        };
        _journals = new JournalCheck(outages, outages, Findings);
        _reader = new LedgerReader(Book, _journals, Findings, settings.Patience) { StuckAfter = s_stuck };
        _fleet = new SoakFleet(settings, _directory.Path, _reader);
    }

    public Findings Findings { get; } = new();

    public CallBook Book { get; }

    /// <summary>The number of the server's methods that began while its pool had no free thread.</summary>
    public long ServerWithoutPool { get; private set; }

    /// <summary>The same for the callbacks of each client.</summary>
    public IReadOnlyList<long> ClientsWithoutPool { get; private set; } = [];

    public async Task RunAsync()
    {
        try
        {
            await BlowAsync();
        }
        catch (TimeoutException exception)
        {
            Findings.Add("stuck", exception.Message);
        }
    }

    public string Report()
    {
        StormSettings storm = _settings.Storm!;
        CultureInfo culture = CultureInfo.InvariantCulture;
        var text = new StringBuilder();
        text.AppendLine(
            culture,
            $"Storm of {_settings.Length.TotalSeconds:0} s, mode {storm.Mode}, pools {storm.Pools}, "
            + $"seed {_settings.Seed}; {_settings.Clients} clients with {_settings.Workers} callers each");
        SoakReport.AppendCounts(text, Book);
        text.AppendLine(culture, $"methods of the server that began without a free thread: {ServerWithoutPool:N0}");
        text.AppendLine(culture, $"callbacks that did, by client: {string.Join(", ", ClientsWithoutPool)}");
        return text.Append(Findings).ToString();
    }

    public async ValueTask DisposeAsync()
    {
        await _fleet.DisposeAsync();
        _reader.End();
        _directory.Dispose();
    }

    private async Task BlowAsync()
    {
        _reader.Start();
        await _fleet.StartAsync();
        await _fleet.StartCallsAsync();
        for (long start = Stopwatch.GetTimestamp();
            Stopwatch.GetElapsedTime(start) < _settings.Length && Findings.Count == 0;)
        {
            await Task.Delay(s_look);
            HangWatchdog.Renew();
        }

        await _fleet.DrainAsync();
        ServerWithoutPool = await WithoutPoolAsync(_fleet.Server);
        ClientsWithoutPool = await Task.WhenAll(_fleet.Clients.Select(WithoutPoolAsync));
        await _fleet.CloseAsync();
        await _fleet.StopServerAsync(s_grace);
        _reader.End();
        _journals.Close();
        Book.Close(_ => false);
    }

    private static async Task<long> WithoutPoolAsync(SoakProcess process) =>
        long.Parse(await process.DoAsync("without-pool"), CultureInfo.InvariantCulture);
}
