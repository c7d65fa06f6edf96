using System.Collections.Concurrent;

namespace RpcOverShm.Soak;

/// <summary>A process of the soak, server or client, with its ledger and its journal.</summary>
internal sealed class SoakProcess : IAsyncDisposable
{
    // Small enough for frequent collections, and twice what the messages of all workers need.
    private const string SmallHeap = "0x6000000";
    private const string PoolThread = ".NET TP Worker";
    private const int MostChecksWithoutPool = 10;
    private const int MostLinesTold = 8;

    private static readonly TimeSpan s_poolCheck = TimeSpan.FromSeconds(1);

    private readonly ThreadQuota? _quota;
    private volatile bool _isGone;
    private volatile bool _hasAnswered;

    private SoakProcess(PeerProcess peer, string path, int instance, bool isServer)
    {
        Peer = peer;
        Instance = instance;
        IsServer = isServer;
        FilePath = path;
        Ledger = new Ledger(path + ".ledger");
        _quota = ThreadQuota.TryCreate(peer.Id);
    }

    public PeerProcess Peer { get; }

    /// <summary>The number of this process among all of the run.</summary>
    public int Instance { get; }

    public bool IsServer { get; }

    /// <summary>The path of its files, without their endings.</summary>
    public string FilePath { get; }

    public string JournalPath => FilePath + ".journal";

    public Ledger Ledger { get; }

    public bool HasThreadQuota => _quota is not null;

    public ThreadQuota Quota => _quota ?? throw new InvalidOperationException("There is no group for threads here.");

    /// <summary>The faults that had this process as their target.</summary>
    public ConcurrentQueue<FaultKind> History { get; } = [];

    /// <summary>Whether a fault has this process as its target.</summary>
    public bool IsBusy { get; set; }

    /// <summary>Whether the supervisor ended the process, or told it to end.</summary>
    public bool IsEnding { get; set; }

    /// <summary>Whether the process lacked something, so that the runtime may have ended it.</summary>
    public bool WasStarved { get; set; }

    /// <summary>Whether the process was killed while it may have had calls, which ended with it.</summary>
    public bool WasKilled { get; private set; }

    /// <summary>Whether the process is gone; then nothing more comes into its ledger.</summary>
    public bool IsGone => _isGone;

    /// <summary>
    /// Whether a call of the process has ended OK. Before that, the runtime may still load code and prepare types; a
    /// lack then makes the process useless for good.
    /// </summary>
    public bool HasAnswered
    {
        get => _hasAnswered;
        set => _hasAnswered = value;
    }

    public bool HasSmallHeap { get; private init; }

    /// <summary>Whether the process was killed because its thread pool had no thread and made none.</summary>
    public bool HasLostPool { get; private set; }

    public static async Task<SoakProcess> StartAsync(
        string directory, int instance, bool isServer, bool hasSmallHeap = false)
    {
        KeyValuePair<string, string>[] variables =
            hasSmallHeap ? [new("DOTNET_GCHeapHardLimit", SmallHeap)] : [];
        PeerProcess peer = await PeerProcess.StartWithAsync(variables, "RpcOverShm.TestPeer");
        string path = Path.Combine(
            directory, string.Create(CultureInfo.InvariantCulture, $"{(isServer ? "server" : "client")}-{instance}"));
        return new SoakProcess(peer, path, instance, isServer) { HasSmallHeap = hasSmallHeap };
    }

    public Task<string> DoAsync(string command) => Peer.DoAsync("soak " + command);

    /// <summary>
    /// Waits until the thread pool of the process has run something after a lack, or kills the process. A pool that
    /// could make no thread when it had none does not try again (.NET 10): its requests count as made.
    /// </summary>
    public async Task CheckPoolAsync()
    {
        Task<string> answer = DoAsync("pool");
        for (int without = 0; without < MostChecksWithoutPool; without = HasPoolThread() ? 0 : without + 1)
        {
            if (await Task.WhenAny(answer, Task.Delay(s_poolCheck)) == answer)
            {
                await answer;
                return;
            }
        }

        HasLostPool = true;
        Peer.Kill();
        await Peer.Exited.Bounded();
        await ((Task)answer).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    /// <summary>Tells the states of the threads of the process, and the end of its journal.</summary>
    public string Describe()
    {
        try
        {
            IEnumerable<string> threads = Directory.EnumerateDirectories($"/proc/{Peer.Id}/task")
                .Select(thread => File.ReadAllText(Path.Combine(thread, "stat")))
                .Select(stat => stat[(stat.IndexOf('(') + 1)..(stat.LastIndexOf(')') + 3)].Replace(')', ':'))
                .GroupBy(name => name, (name, all) => $"{all.Count()} x {name}");
            IEnumerable<string> journal = SoakJournalLine.Read(JournalPath).TakeLast(MostLinesTold)
                .Select(line => string.Create(
                    CultureInfo.InvariantCulture,
                    $"{Stopwatch.GetElapsedTime(line.Time).TotalSeconds:0.0} s ago: {line.EventId} {line.Text}"));
            return string.Join(Environment.NewLine, ["threads: " + string.Join(", ", threads), .. journal]);
        }
        catch (IOException exception)
        {
            return exception.Message; // The process has ended meanwhile.
        }
    }

    /// <summary>Kills the process and waits until it is gone.</summary>
    /// <param name="isIdle">Whether all its calls and methods have ended before, so that none may be missing.</param>
    public async Task KillAsync(bool isIdle = false)
    {
        IsEnding = true;
        WasKilled = !isIdle;
        await Peer.DisposeAsync();
        _isGone = true;
        _quota?.Dispose();
    }

    public async ValueTask DisposeAsync() => await KillAsync();

    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{(IsServer ? "server" : "client")} {Instance} (process {Peer.Id}; {string.Join(", ", History)})");

    private bool HasPoolThread()
    {
        try
        {
            return Directory.EnumerateDirectories($"/proc/{Peer.Id}/task")
                .Any(thread => File.ReadAllText(Path.Combine(thread, "comm")).TrimEnd() == PoolThread);
        }
        catch (IOException)
        {
            // A thread has ended meanwhile, and others may be the pool's.
            return true;
        }
    }
}
