namespace RpcOverShm.Perf.Peers;

/// <summary>
/// The processes of one arm, a server and its client or clients, which no other arm shares: neither's heap, thread pool
/// or compiler can disturb another's. Between slices all are blocked, a client in its read of the next order.
/// </summary>
internal sealed class ArmPair(string label, IArm arm, string directory, int clients = 1) : IAsyncDisposable
{
    // A method gets its next tier after 30 calls and a pause of 100 ms in which nothing else is compiled for the first
    // time. The code for orders is compiled too, but orders are few: without these it would be compiled while the clock
    // runs.
    private const int SettlingBursts = 4;
    private const int SamplesPerBurst = 40;
    private static readonly TimeSpan s_betweenBursts = TimeSpan.FromMilliseconds(150);

    private static readonly TimeSpan s_deadline = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan s_wideningDeadline = TimeSpan.FromMinutes(3);

    private static int s_starts; // of all pairs: two with one label, such as a scenario's beside the fleet's, may run

    private PeerProcess? _server;
    private List<PeerProcess> _clients = [];
    private readonly HashSet<(LoadShape, CallerKind)> _warmed = [];
    private ResourceSample _samplingUsed;

    /// <summary>The name in every table: the arm's, or another name for the second pair of an arm.</summary>
    public string Label => label;

    public IArm Arm => arm;

    /// <summary>The number of its client processes.</summary>
    public int Clients => clients;

    public bool IsRunning => _server is not null && _clients.Count == clients;

    /// <summary>Starts all processes and the server; connects when the first load needs it.</summary>
    public async Task StartAsync()
    {
        string place = Path.Combine(directory, $"{label}.{Interlocked.Increment(ref s_starts)}");
        try
        {
            _server = await PeerProcess.StartAsync($"server of {label}", arm);
            LineWriter serve = new LineWriter(PeerVerbs.Serve).Add(arm.Name).Add(place);
            string served = (await _server.AskAsync(serve, s_deadline)).NextText();
            for (int i = 0; i < clients; i++)
            {
                PeerProcess client = await PeerProcess.StartAsync($"client of {label}", arm);
                _clients.Add(client);
                await client.AskAsync(new LineWriter(PeerVerbs.Connect).Add(arm.Name).Add(served), s_deadline);
            }

            await SettleAsync();
            _samplingUsed = await CostOfSamplingAsync(_server);
        }
        catch (PeerException)
        {
            await DisposeAsync();
            throw;
        }
    }

    /// <summary>Records that the processes have carried a load of this form; returns true the first time.</summary>
    public bool NoteWarmed((LoadShape Shape, CallerKind Caller) form) => _warmed.Add(form);

    /// <summary>Carries out one slice of load.</summary>
    /// <exception cref="PeerException">It failed; the processes are gone and can be started anew.</exception>
    /// <param name="order">The work of each client.</param>
    /// <param name="clientsUsed">The number of clients that do it at the same time.</param>
    public Task<SliceResult> RunAsync(LoadOrder order, int clientsUsed = 1) =>
        RunAsync([.. Enumerable.Repeat(order, clientsUsed)]);

    /// <summary>Carries out one slice of several loads at the same time.</summary>
    /// <exception cref="PeerException">One failed; the processes are gone and can be started anew.</exception>
    /// <param name="orders">The work of the first client, the second, and so on.</param>
    public async Task<SliceResult> RunAsync(IReadOnlyList<LoadOrder> orders)
    {
        if (_server is null || !IsRunning)
        {
            throw new PeerException($"The processes of {label} are gone.");
        }

        try
        {
            PeerSample before = await SampleAsync(_server);
            LineReader[] done = await Task.WhenAll(_clients.Zip(orders, RunAsync));
            PeerSample after = await SampleAsync(_server);
            LoadResult[] results = [.. done.Select(LoadResult.Read)];
            LoadResult result = results.Length == 1 ? results[0] : LoadResult.Sum(results);
            PeerSample served = after - before with { Used = before.Used + _samplingUsed };
            return new SliceResult(result, served) { First = results[0], IsLocal = arm.IsLocal };
        }
        catch (PeerException)
        {
            await DisposeAsync();
            throw;
        }
    }

    /// <summary>Returns the resources that all processes together have used so far.</summary>
    public async Task<ResourceSample> SampleAsync()
    {
        ResourceSample used = (await SampleAsync(_server!)).Used;
        foreach (PeerProcess client in _clients)
        {
            used += (await SampleAsync(client)).Used;
        }

        return used;
    }

    /// <summary>
    /// Orders each client, or the first ones, to open further connections, one after another, with calls on each.
    /// Returns the time of the slowest client.
    /// </summary>
    public async Task<TimeSpan> WidenAsync(int connections, int callsEach, int? clientsUsed = null)
    {
        LineWriter request = new LineWriter(PeerVerbs.Widen).Add(connections).Add(callsEach);
        LineReader[] done = await Task.WhenAll(
            _clients.Take(clientsUsed ?? clients).Select(client => client.AskAsync(request, s_wideningDeadline)));
        return Stopwatch.GetElapsedTime(0, done.Max(answer => answer.NextNumber()));
    }

    /// <summary>
    /// Has the first clients read the server's feed, so that there are so many readers: one for each client, or as many
    /// for each.
    /// </summary>
    public Task SubscribeAsync(int subscribers)
    {
        LineWriter request = new LineWriter(PeerVerbs.Subscribe).Add(Math.Max(1, subscribers / clients));
        return Task.WhenAll(_clients.Take(subscribers).Select(client => client.AskAsync(request, s_deadline)));
    }

    /// <summary>Carries out one slice of a feed. Every reader must have got every message right.</summary>
    /// <exception cref="PeerException">It failed, or a message was lost, twice, in a wrong order or wrong.</exception>
    public async Task<FeedResult> FeedAsync(FeedOrder order)
    {
        PeerProcess[] readers = [.. _clients.Take(order.Subscribers)];
        await AskAllAsync(Told(PeerVerbs.Expect));
        PeerSample[] before = await SampleAllAsync();
        var published = FeedPublished.Read(await _server!.AskAsync(Told(PeerVerbs.Publish), s_deadline));
        FeedTaken[] taken = [.. (await AskAllAsync(new LineWriter(PeerVerbs.Take))).Select(FeedTaken.Read)];
        PeerSample[] after = await SampleAllAsync();
        ResourceSample[] used = [.. after.Zip(before, (later, earlier) => (later - earlier).Used)];
        var result = new FeedResult(order, published, taken, used[0], used.Skip(1).Aggregate((one, two) => one + two));
        return result.Problem() is { } problem ? throw new PeerException($"In {label}, {problem}.") : result;

        LineWriter Told(string verb)
        {
            var request = new LineWriter(verb);
            order.Write(request);
            return request;
        }

        Task<LineReader[]> AskAllAsync(LineWriter request) =>
            Task.WhenAll(readers.Select(reader => reader.AskAsync(request, s_deadline)));

        Task<PeerSample[]> SampleAllAsync() => Task.WhenAll(readers.Prepend(_server!).Select(SampleAsync));
    }

    /// <summary>The memory and the threads of server and first client.</summary>
    public async Task<(FootprintSample Server, FootprintSample Client)> FootprintAsync() => (
        FootprintSample.Read(await _server!.AskAsync(new LineWriter(PeerVerbs.Footprint), s_deadline)),
        FootprintSample.Read(await _clients[0].AskAsync(new LineWriter(PeerVerbs.Footprint), s_deadline)));

    public async Task<RuntimeFacts> FactsAsync() =>
        RuntimeFacts.Read(await _clients[0].AskAsync(new LineWriter(PeerVerbs.Facts), s_deadline));

    public async ValueTask DisposeAsync()
    {
        PeerProcess?[] all = [.. _clients, _server];
        _clients = [];
        _server = null;
        _warmed.Clear();
        foreach (PeerProcess? peer in all)
        {
            if (peer is not null)
            {
                await peer.DisposeAsync();
            }
        }
    }

    private static Task<LineReader> RunAsync(PeerProcess client, LoadOrder order)
    {
        var request = new LineWriter(PeerVerbs.Run);
        order.Write(request);
        return client.AskAsync(request, s_deadline + order.LeadIn + order.Duration);
    }

    private async Task SettleAsync()
    {
        for (int burst = 0; burst < SettlingBursts; burst++)
        {
            for (int i = 0; i < SamplesPerBurst; i++)
            {
                await SampleAsync();
            }

            await Task.Delay(s_betweenBursts);
        }
    }

    // Between two samples there is, besides the load, the answer to the first and the question for the second. Their
    // allocations are the same every time and are subtracted; their other costs are lost in the noise.
    private static async Task<ResourceSample> CostOfSamplingAsync(PeerProcess server)
    {
        await SampleAsync(server);
        PeerSample first = await SampleAsync(server);
        PeerSample second = await SampleAsync(server);
        return new ResourceSample { AllocatedBytes = second.Used.AllocatedBytes - first.Used.AllocatedBytes };
    }

    private static async Task<PeerSample> SampleAsync(PeerProcess peer) =>
        PeerSample.Read(await peer.AskAsync(new LineWriter(PeerVerbs.Sample), s_deadline));
}
