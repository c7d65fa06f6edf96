using Grpc.Core;

namespace RpcOverShm.Soak;

/// <summary>
/// Matches the events of all ledgers: each call ends once at its client, and runs at most once on all servers; each
/// one that was answered ran to its end. One thread uses it.
/// </summary>
/// <param name="seed">The seed of the run.</param>
/// <param name="outages">The faults that may end calls, by the client's number.</param>
/// <param name="faults">All faults, by the process.</param>
/// <param name="recoveries">Learns each first answer.</param>
/// <param name="findings">What is wrong.</param>
/// <param name="serverProcess">Returns the process id of the server.</param>
internal sealed class CallBook(
    int seed, Outages outages, Outages faults, Recoveries recoveries, Findings findings, Func<int> serverProcess)
{
    public const string Lost = "lost";
    public const string Doubled = "doubled";
    public const string Misdelivered = "misdelivered";

    // What a connect may take while both sides run.
    private static readonly TimeSpan s_mostForConnect = TimeSpan.FromSeconds(2);

    private readonly Dictionary<ulong, LedgerEntry> _open = [];
    private readonly Dictionary<ulong, StatusCode> _ended = [];
    private readonly Dictionary<ulong, Run> _runs = [];
    private readonly SortedDictionary<(SoakShape, StatusCode), long> _counts = [];

    /// <summary>The bound for the recovery from a fault.</summary>
    public TimeSpan Recovery { get; set; }

    /// <summary>The time limit of a connect.</summary>
    public required TimeSpan ConnectTimeout { get; init; }

    /// <summary>The longest time after an outage at which a call was asked that was answered Unavailable.</summary>
    public TimeSpan LatestUnavailable { get; private set; }

    /// <summary>The number of connects that timed out while a side was stopped or starved most of the time.</summary>
    public long ConnectsStopped { get; private set; }

    public IReadOnlyDictionary<(SoakShape Shape, StatusCode Status), long> Counts => _counts;

    /// <summary>The number of calls that ended with their client.</summary>
    public long EndedWithClient { get; private set; }

    /// <summary>The number of methods that ended with their server.</summary>
    public long EndedWithServer { get; private set; }

    public void Add(SoakProcess from, in LedgerEntry entry)
    {
        switch (entry.Event)
        {
            case LedgerEvent.Asked:
                Check(_open.TryAdd(entry.CallId, entry), Doubled, entry.CallId, "asked twice");
                break;
            case LedgerEvent.Ended:
                OnEnded(from, entry);
                break;
            case LedgerEvent.Began:
                bool isFirst = _runs.TryAdd(entry.CallId, new Run(from, false, entry.StatusCode));
                Check(isFirst, Doubled, entry.CallId, "ran twice");
                break;
            case LedgerEvent.Returned:
                OnReturned(from, entry);
                break;
            default:
                findings.Add("ledger", $"{from}: {entry}");
                break;
        }
    }

    /// <summary>Describes the calls of these clients that have been open since before this time.</summary>
    public IEnumerable<string> OpenSince(long time, Dictionary<int, SoakProcess> clients) =>
        from entry in _open.Values
        let client = clients.GetValueOrDefault(SoakCallId.Unpack(entry.CallId).Instance)
        where entry.Time < time && client is not null
        select $"{new SoakPlan((ulong)seed, entry.CallId)}, "
            + $"open for {Stopwatch.GetElapsedTime(entry.Time).TotalSeconds:0.0} s, method "
            + (_runs.TryGetValue(entry.CallId, out Run run) ? run.HasReturned ? "returned" : "runs" : "did not begin")
            + $"; {client}";

    /// <summary>Checks what remains when every ledger was read to its end.</summary>
    /// <param name="isClientGone">Whether the client with this number was killed.</param>
    /// <param name="isServerGone">Whether the server was killed before it could end its methods.</param>
    public void Close(Func<int, bool> isClientGone, Func<SoakProcess, bool> isServerGone)
    {
        foreach (ulong id in _open.Keys)
        {
            bool isGone = isClientGone(SoakCallId.Unpack(id).Instance);
            Check(isGone, Lost, id, "never ended at its client");
            EndedWithClient += isGone ? 1 : 0;
        }

        foreach ((ulong id, StatusCode status) in _ended.Where(pair => pair.Value == StatusCode.OK))
        {
            Check(false, Misdelivered, id, "was answered OK, and no method returned for it");
        }

        foreach ((ulong id, Run run) in _runs)
        {
            Check(
                _open.ContainsKey(id) || _ended.ContainsKey(id),
                Doubled,
                id,
                "ran after its end, or was never asked");
            bool isGone = isServerGone(run.Server);
            Check(run.HasReturned || isGone, Lost, id, $"began at {run.Server} and its method never ended");
            EndedWithServer += run.HasReturned ? 0 : 1;
        }
    }

    private void OnEnded(SoakProcess from, in LedgerEntry entry)
    {
        ulong id = entry.CallId;
        if (!_open.Remove(id, out LedgerEntry asked))
        {
            Check(false, Doubled, id, "ended twice");
            return;
        }

        StatusCode status = entry.StatusCode;
        (SoakShape, StatusCode) key = (entry.Shape, status);
        _counts[key] = _counts.GetValueOrDefault(key) + 1;
        if (status == StatusCode.OK)
        {
            from.HasAnswered = true;
            recoveries.OnAnswer(from.Instance, asked.Time, entry.Time);
        }
        else if (status == StatusCode.Unavailable)
        {
            CheckUnavailable(from, asked.Time, entry);
        }

        _ended.Add(id, status);
        TryForget(id);
    }

    private void CheckUnavailable(SoakProcess from, long asked, in LedgerEntry ended)
    {
        TimeSpan? since = outages.SinceOutage(from.Instance, asked, ended.Time);
        LatestUnavailable = since > LatestUnavailable ? since.Value : LatestUnavailable;
        if (since <= Recovery)
        {
            return;
        }

        // A stopped or starved process takes part in no handshake, whose time limit goes on.
        TimeSpan took = Stopwatch.GetElapsedTime(asked, ended.Time);
        TimeSpan running = faults.TimeRunning([from.Peer.Id, serverProcess()], asked, ended.Time);
        bool isConnectStopped = took >= ConnectTimeout && running < s_mostForConnect;
        ConnectsStopped += isConnectStopped ? 1 : 0;
        Check(
            isConnectStopped,
            "unavailable without a fault",
            ended.CallId,
            $"took {took.TotalMilliseconds:0} ms; both sides ran for {running.TotalMilliseconds:0} of them");
    }

    private void OnReturned(SoakProcess from, in LedgerEntry entry)
    {
        ulong id = entry.CallId;
        if (!_runs.TryGetValue(id, out Run run) || run.HasReturned || run.Server != from)
        {
            Check(false, Doubled, id, "returned twice, or on another server");
            return;
        }

        from.HasAnswered |= entry.StatusCode == StatusCode.OK;
        _runs[id] = run with { HasReturned = true, Status = entry.StatusCode };
        TryForget(id);
    }

    private void TryForget(ulong id)
    {
        if (_runs.TryGetValue(id, out Run run) && run.HasReturned && _ended.Remove(id, out StatusCode status))
        {
            _runs.Remove(id);
            Check(
                status != StatusCode.OK || run.Status == StatusCode.OK,
                Misdelivered,
                id,
                "was answered OK, and its method failed");
        }
    }

    private void Check(bool isRight, string kind, ulong id, string what)
    {
        if (!isRight)
        {
            findings.Add(kind, $"{new SoakPlan((ulong)seed, id)}: {what}");
        }
    }

    /// <summary>A method that began to run.</summary>
    private readonly record struct Run(SoakProcess Server, bool HasReturned, StatusCode Status);
}
