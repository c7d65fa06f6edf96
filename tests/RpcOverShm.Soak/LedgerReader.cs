namespace RpcOverShm.Soak;

/// <summary>
/// Reads the ledgers of all processes while they run, on a thread of its own, and the journals of those that are gone.
/// </summary>
internal sealed class LedgerReader(CallBook book, JournalCheck journals, Findings findings, int patience)
{
    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(2);
    private static readonly TimeSpan s_stuckPeriod = TimeSpan.FromSeconds(5);

    private readonly Lock _gate = new();
    private readonly List<SoakProcess> _processes = [];
    private readonly HashSet<ulong> _stuck = [];
    private TestThread? _thread;
    private volatile bool _isEnding;

    /// <summary>The time after which an open call is stuck; by default well beyond the longest stop.</summary>
    public TimeSpan StuckAfter { get; init; } = TimeSpan.FromSeconds(40);

    /// <summary>The number of entries that a killed process left half-written.</summary>
    public long Torn { get; private set; }

    public void Start() => _thread = TestThread.Start("Soak ledgers", () =>
    {
        try
        {
            Run();
        }
        catch (Exception exception)
        {
            findings.Add("ledger", exception.ToString());
            throw;
        }
    });

    public void Add(SoakProcess process)
    {
        lock (_gate)
        {
            _processes.Add(process);
        }
    }

    /// <summary>Reads everything to its end; every process must be gone or idle. A second call does nothing.</summary>
    public void End()
    {
        _isEnding = true;
        _thread?.Join();
        _thread = null;
    }

    private void Run()
    {
        long lastCheck = Stopwatch.GetTimestamp();
        while (true)
        {
            bool isEnding = _isEnding;
            SoakProcess[] processes;
            lock (_gate)
            {
                processes = [.. _processes];
            }

            bool hasRead = false;
            foreach (SoakProcess process in processes)
            {
                hasRead |= Read(process, isEnding);
            }

            if (Stopwatch.GetElapsedTime(lastCheck) > s_stuckPeriod)
            {
                lastCheck = Stopwatch.GetTimestamp();
                ReportStuck(processes);
            }

            if (isEnding && !hasRead)
            {
                return;
            }

            if (!hasRead)
            {
                Thread.Sleep(s_pause);
            }
        }
    }

    private bool Read(SoakProcess process, bool isEnding)
    {
        // Before the entries: what comes into the ledger of a process that is gone has come.
        bool isGone = process.IsGone;
        bool hasRead = false;
        while (true)
        {
            if (process.Ledger.TryTake(out LedgerEntry entry))
            {
                book.Add(process, entry);
            }
            else if (isGone && process.Ledger.TrySkip())
            {
                Torn++;
            }
            else
            {
                break;
            }

            hasRead = true;
        }

        if (isGone || (isEnding && !hasRead))
        {
            journals.Read(process);
            lock (_gate)
            {
                _processes.Remove(process);
            }

            process.Ledger.Dispose();
            File.Delete(process.Ledger.Path);
            File.Delete(process.JournalPath);
        }

        return hasRead;
    }

    private void ReportStuck(SoakProcess[] processes)
    {
        var alive = processes.Where(process => !process.IsGone).ToDictionary(process => process.Instance);
        long since = Stopwatch.GetTimestamp() - (long)(StuckAfter.TotalSeconds * patience * Stopwatch.Frequency);
        foreach ((ulong id, string text, SoakProcess caller) in book.OpenSince(since, alive))
        {
            if (_stuck.Add(id))
            {
                findings.Add("stuck", $"{text}; {caller.Describe()}");
            }
        }
    }
}
