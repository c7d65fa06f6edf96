namespace RpcOverShm.Soak;

/// <summary>
/// The processes of a run: one server, a second one that waits to replace it, and the clients. Starts, kills and
/// replaces them. The supervisor's faults run one at a time for each process; other members are thread-safe.
/// </summary>
internal sealed class SoakFleet(SoakSettings settings, string directory, LedgerReader reader) : IAsyncDisposable
{
    private const string Address = "shm://soak";
    private const int SmallHeapOneIn = 4;

    private readonly SoakProcess?[] _clients = new SoakProcess?[settings.Clients];
    private readonly List<SoakProcess> _all = [];
    private readonly Lock _gate = new();
    private Task<SoakProcess>? _nextServer;
    private int _instances;

    public SoakProcess Server { get; private set; } = null!;

    /// <summary>The clients that run.</summary>
    public IReadOnlyList<SoakProcess> Clients => [.. _clients.OfType<SoakProcess>()];

    /// <summary>The client that lives for the whole run.</summary>
    public SoakProcess LongLived => _clients[0]!;

    public int ProcessesStarted => Volatile.Read(ref _instances);

    public async Task StartAsync()
    {
        Server = await StartServerProcessAsync();
        await ServeAsync(Server);
        if (settings.Storm is null)
        {
            PrepareNextServer();
        }

        for (int slot = 0; slot < _clients.Length; slot++)
        {
            _clients[slot] = await StartClientAsync(hasSmallHeap: false);
        }
    }

    /// <summary>
    /// Starts the calls of one client after the other: each compiles its code at its first calls, and a few hundred of
    /// them would leave one another no processor.
    /// </summary>
    public async Task StartCallsAsync()
    {
        foreach (SoakProcess client in Clients)
        {
            await StartCallsAsync(client);
            await Timeouts.Eventually(() => client.HasAnswered);
            HangWatchdog.Renew();
        }
    }

    /// <summary>Starts no more calls; returns when every call of every client has ended.</summary>
    public Task DrainAsync() => Task.WhenAll(Clients.Select(client => client.DoAsync("drain")));

    public Task CloseAsync() => Task.WhenAll(Clients.Select(client => client.DoAsync("close")));

    /// <summary>Kills a client and starts another one in its place.</summary>
    public async Task ReplaceClientAsync(SoakProcess client, Random random)
    {
        int slot = Array.IndexOf(_clients, client);
        _clients[slot] = null;
        await client.KillAsync();
        SoakProcess next = await StartClientAsync(random.Next(SmallHeapOneIn) == 0);
        await StartCallsAsync(next);
        _clients[slot] = next;
    }

    /// <summary>Kills the server, and lets another one take the address over.</summary>
    public async Task KillServerAsync()
    {
        SoakProcess old = Server;
        SoakProcess next = await TakeNextServerAsync();
        await old.KillAsync();
        await ServeAsync(next);
        Server = next;
    }

    /// <summary>Stops the server with a grace period while another one already waits for the address.</summary>
    public async Task RestartServerAsync(TimeSpan grace)
    {
        SoakProcess old = Server;
        SoakProcess next = await TakeNextServerAsync();
        Task serving = ServeAsync(next);
        bool isStopped = false;
        try
        {
            await old.DoAsync(string.Create(CultureInfo.InvariantCulture, $"stop {grace.TotalMilliseconds:0}"));
            isStopped = true;
        }
        finally
        {
            // Also if the old one has died meanwhile: the next one has the address, so no other one can take it.
            await serving;
            Server = next;
            await old.KillAsync(isStopped);
        }
    }

    /// <summary>Ends the server in an orderly way, without another one.</summary>
    public Task StopServerAsync(TimeSpan grace) =>
        Server.DoAsync(string.Create(CultureInfo.InvariantCulture, $"stop {grace.TotalMilliseconds:0}"));

    public async ValueTask DisposeAsync()
    {
        if (_nextServer is not null)
        {
            await ((Task)_nextServer).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }

        SoakProcess[] all;
        lock (_gate)
        {
            all = [.. _all];
        }

        foreach (SoakProcess process in all)
        {
            await process.DisposeAsync();
        }
    }

    private async Task<SoakProcess> StartClientAsync(bool hasSmallHeap)
    {
        SoakProcess client = Adopt(await SoakProcess.StartAsync(
            directory, Interlocked.Increment(ref _instances), isServer: false, hasSmallHeap));
        await BoundPoolAsync(client, settings.Storm?.ClientPool);
        await client.DoAsync("client " + WordsFor(client));
        return client;
    }

    private async Task StartCallsAsync(SoakProcess client)
    {
        string callers = settings.Storm is { } storm
            ? storm.Pools == StormPools.Blocked ? " storm on-pool" : " storm"
            : "";
        await client.DoAsync(string.Create(
            CultureInfo.InvariantCulture, $"start {settings.Workers} {settings.Pause.TotalMilliseconds}{callers}"));
    }

    private async Task<SoakProcess> StartServerProcessAsync() =>
        Adopt(await SoakProcess.StartAsync(directory, Interlocked.Increment(ref _instances), isServer: true));

    private async Task ServeAsync(SoakProcess server)
    {
        await BoundPoolAsync(server, settings.Storm?.ServerPool);
        await server.DoAsync("serve " + WordsFor(server));
    }

    private string WordsFor(SoakProcess process)
    {
        string mode = settings.Storm is { } storm ? $" {storm.Mode}" : "";
        return string.Create(
            CultureInfo.InvariantCulture,
            $"{Address} {directory} {settings.Seed} {process.FilePath} {process.Instance} {settings.Patience}{mode}");
    }

    private static async Task BoundPoolAsync(SoakProcess process, int? threads)
    {
        if (threads is { } bound)
        {
            await process.DoAsync(string.Create(CultureInfo.InvariantCulture, $"bound-pool {bound}"));
        }
    }

    private void PrepareNextServer() => _nextServer = StartServerProcessAsync();

    /// <summary>Returns the prepared server, and prepares another one at once: two faults never get the same.</summary>
    private Task<SoakProcess> TakeNextServerAsync()
    {
        lock (_gate)
        {
            Task<SoakProcess> next = _nextServer ?? throw new InvalidOperationException("No server is prepared.");
            PrepareNextServer();
            return next;
        }
    }

    private SoakProcess Adopt(SoakProcess process)
    {
        lock (_gate)
        {
            _all.RemoveAll(old => old.IsGone);
            _all.Add(process);
        }

        reader.Add(process);
        return process;
    }
}
