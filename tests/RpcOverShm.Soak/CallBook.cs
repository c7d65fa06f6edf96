using Grpc.Core;

namespace RpcOverShm.Soak;

/// <summary>
/// Matches the events of all ledgers: each call ends once at its client, and runs at most once on all servers; each
/// one that was answered ran to its end. A callback ends once at its server, and runs at most once, in its client. A
/// one-way call that was sent runs, unless the server ended. One thread uses it.
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
    public const string UnavailableWithoutFault = "unavailable without a fault";

    // What a connect may take while both sides run.
    private static readonly TimeSpan s_mostForConnect = TimeSpan.FromSeconds(2);

    // A one-way call may wait for so long until it runs: for a stopped server, or for calls before it.
    private static readonly TimeSpan s_oneWayBacklog = TimeSpan.FromSeconds(10);

    // A client may notice the end of its server so late. What it sends until then is lost.
    private static readonly TimeSpan s_noticing = TimeSpan.FromSeconds(5);

    private readonly Dictionary<ulong, Question> _open = [];
    private readonly Dictionary<ulong, Answer> _ended = [];
    private readonly Dictionary<ulong, Run> _runs = [];
    private readonly Dictionary<int, SoakProcess> _clients = [];
    private readonly SortedDictionary<(bool IsCallback, SoakShape Shape, StatusCode Status), long> _counts = [];

    /// <summary>The bound for the recovery from a fault.</summary>
    public TimeSpan Recovery { get; set; }

    /// <summary>The time limit of a connect.</summary>
    public required TimeSpan ConnectTimeout { get; init; }

    /// <summary>The longest time after an outage at which a call was asked that was answered Unavailable.</summary>
    public TimeSpan LatestUnavailable { get; private set; }

    /// <summary>The number of connects that timed out while a side was stopped or starved most of the time.</summary>
    public long ConnectsStopped { get; private set; }

    /// <summary>The number of calls and of callbacks that have ended, by shape and status.</summary>
    public IReadOnlyDictionary<(bool IsCallback, SoakShape Shape, StatusCode Status), long> Counts => _counts;

    /// <summary>The number of calls and callbacks that ended with the process that made them.</summary>
    public long EndedWithCaller { get; private set; }

    /// <summary>The number of methods that ended with their process.</summary>
    public long EndedWithProcess { get; private set; }

    /// <summary>The number of one-way calls that were sent to a server that ended before they ran.</summary>
    public long OneWayEndedWithServer { get; private set; }

    public void Add(SoakProcess from, in LedgerEntry entry)
    {
        switch (entry.Event)
        {
            case LedgerEvent.Asked:
                OnAsked(from, entry);
                break;
            case LedgerEvent.Ended:
                OnEnded(from, entry);
                break;
            case LedgerEvent.Began:
                OnBegan(from, entry);
                break;
            case LedgerEvent.Returned:
                OnReturned(from, entry);
                break;
            default:
                findings.Add("ledger", $"{from}: {entry}");
                break;
        }
    }

    /// <summary>Returns how many calls or callbacks have ended.</summary>
    public long CountOf(bool isCallback) =>
        _counts.Where(pair => pair.Key.IsCallback == isCallback).Sum(pair => pair.Value);

    /// <summary>
    /// Returns the calls and callbacks of these processes that are open since before this time: the id, a description,
    /// and the caller.
    /// </summary>
    public IEnumerable<(ulong Id, string Text, SoakProcess Caller)> OpenSince(
        long time, Dictionary<int, SoakProcess> alive) =>
        from pair in _open
        let caller = pair.Value.Caller
        where pair.Value.Time < time && alive.ContainsKey(caller.Instance)
        select (pair.Key, $"{new SoakPlan((ulong)seed, pair.Key)}, "
            + $"open for {Stopwatch.GetElapsedTime(pair.Value.Time).TotalSeconds:0.0} s, method "
            + (_runs.TryGetValue(pair.Key, out Run run) ? run.HasReturned ? "returned" : "runs" : "did not begin")
            + $"; {caller}", caller);

    /// <summary>Checks what remains when every ledger was read to its end.</summary>
    /// <param name="isGone">Whether a process was killed before its calls and methods had ended.</param>
    public void Close(Func<SoakProcess, bool> isGone)
    {
        foreach ((ulong id, Question asked) in _open)
        {
            bool isCallerGone = isGone(asked.Caller);
            Check(isCallerGone, Lost, id, $"never ended at {asked.Caller}");
            EndedWithCaller += isCallerGone ? 1 : 0;
        }

        foreach ((ulong id, Answer answer) in _ended.Where(pair => pair.Value.Status == StatusCode.OK))
        {
            if (answer.Shape == SoakShape.OneWay)
            {
                CheckOneWay(id, answer);
            }
            else
            {
                Check(false, Misdelivered, id, "was answered OK, and no method returned for it");
            }
        }

        foreach ((ulong id, Run run) in _runs)
        {
            Check(
                _open.ContainsKey(id) || _ended.ContainsKey(id),
                Doubled,
                id,
                "ran after its end, or was never asked");
            bool hasEnded = run.HasReturned || isGone(run.Process);
            Check(hasEnded, Lost, id, $"began at {run.Process} and its method never ended");
            EndedWithProcess += run.HasReturned ? 0 : 1;
        }
    }

    private void OnAsked(SoakProcess from, in LedgerEntry entry)
    {
        Check(_open.TryAdd(entry.CallId, new Question(from, entry.Time)), Doubled, entry.CallId, "asked twice");
        if (!from.IsServer)
        {
            _clients[from.Instance] = from;
        }
    }

    private void OnBegan(SoakProcess from, in LedgerEntry entry)
    {
        var id = SoakCallId.Unpack(entry.CallId);
        if (id.IsCallback ? from.Instance != id.Instance : !from.IsServer)
        {
            Check(false, Misdelivered, entry.CallId, $"ran at {from}");
        }

        bool isFirst = _runs.TryAdd(entry.CallId, new Run(from, false, entry.StatusCode));
        Check(isFirst, Doubled, entry.CallId, "ran twice");
    }

    private void OnEnded(SoakProcess from, in LedgerEntry entry)
    {
        ulong id = entry.CallId;
        if (!_open.Remove(id, out Question asked))
        {
            Check(false, Doubled, id, "ended twice");
            return;
        }

        StatusCode status = entry.StatusCode;
        bool isCallback = SoakCallId.Unpack(id).IsCallback;
        (bool, SoakShape, StatusCode) key = (isCallback, entry.Shape, status);
        _counts[key] = _counts.GetValueOrDefault(key) + 1;
        if (status == StatusCode.OK && !isCallback && entry.Shape != SoakShape.OneWay)
        {
            from.HasAnswered = true;
            recoveries.OnAnswer(from.Instance, asked.Time, entry.Time);
        }
        else if (status == StatusCode.Unavailable && isCallback)
        {
            CheckUnavailableClient(asked.Time, entry);
        }
        else if (status == StatusCode.Unavailable)
        {
            CheckUnavailable(from, asked.Time, entry);
        }

        _ended.Add(id, new Answer(status, entry.Shape, asked.Time, entry.Time));
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
            UnavailableWithoutFault,
            ended.CallId,
            $"took {took.TotalMilliseconds:0} ms; both sides ran for {running.TotalMilliseconds:0} of them; {from}; "
            + from.Describe());
    }

    // A callback needs the session of its client, which ends with the channel or the process.
    private void CheckUnavailableClient(long asked, in LedgerEntry ended)
    {
        int instance = SoakCallId.Unpack(ended.CallId).Instance;
        bool isExplained = outages.Explains(instance, asked, ended.Time, Recovery)
            || (_clients.TryGetValue(instance, out SoakProcess? client)
                && faults.SinceOutage(client.Peer.Id, asked, ended.Time, EndsSessions) <= Recovery);
        Check(isExplained, UnavailableWithoutFault, ended.CallId, "its client had neither left nor lacked anything");
    }

    private static bool EndsSessions(Outage outage) =>
        outage.Name is nameof(FaultKind.KillClient) or nameof(FaultKind.ReopenChannel);

    private void OnReturned(SoakProcess from, in LedgerEntry entry)
    {
        ulong id = entry.CallId;
        if (!_runs.TryGetValue(id, out Run run) || run.HasReturned || run.Process != from)
        {
            Check(false, Doubled, id, "returned twice, or in another process");
            return;
        }

        from.HasAnswered |= from.IsServer && entry.StatusCode == StatusCode.OK;
        _runs[id] = run with { HasReturned = true, Status = entry.StatusCode };
        TryForget(id);
    }

    private void TryForget(ulong id)
    {
        if (_runs.TryGetValue(id, out Run run) && run.HasReturned && _ended.Remove(id, out Answer answer))
        {
            _runs.Remove(id);
            Check(
                answer.Status != StatusCode.OK || answer.Shape == SoakShape.OneWay || run.Status == StatusCode.OK,
                Misdelivered,
                id,
                "was answered OK, and its method failed");
        }
    }

    // The server reads what was sent also if the client has left.
    private void CheckOneWay(ulong id, Answer answer)
    {
        if (_runs.ContainsKey(id))
        {
            return;
        }

        long until = answer.Time + (long)(s_oneWayBacklog.TotalSeconds * Stopwatch.Frequency);
        bool isExplained = outages.Explains(SoakCallId.Unpack(id).Instance, answer.Asked, until, s_noticing);
        Check(isExplained, Lost, id, "was sent one-way and never ran, although its server lived");
        OneWayEndedWithServer += isExplained ? 1 : 0;
    }

    private void Check(bool isRight, string kind, ulong id, string what)
    {
        if (!isRight)
        {
            findings.Add(kind, $"{new SoakPlan((ulong)seed, id)}: {what}");
        }
    }

    /// <summary>A call that was asked.</summary>
    private readonly record struct Question(SoakProcess Caller, long Time);

    /// <summary>The end of a call at its caller.</summary>
    private readonly record struct Answer(StatusCode Status, SoakShape Shape, long Asked, long Time);

    /// <summary>A method that began to run.</summary>
    private readonly record struct Run(SoakProcess Process, bool HasReturned, StatusCode Status);
}
