using RpcOverShm.Perf.Peer.Arms;
using RpcOverShm.Perf.Peer.Control;
using RpcOverShm.Perf.Peer.Loads;
using RpcOverShm.Perf.Peer.Recording;

namespace RpcOverShm.Perf.Peers;

/// <summary>
/// The two processes of one arm, server and client, which no other arm shares: neither's heap, thread pool or compiler
/// can disturb another's. Between slices both are blocked, the client in its read of the next order.
/// </summary>
internal sealed class ArmPair(string label, IArm arm, string directory) : IAsyncDisposable
{
    private static readonly TimeSpan s_deadline = TimeSpan.FromSeconds(30);

    private PeerProcess? _server;
    private PeerProcess? _client;
    private int _starts;
    private ResourceSample _samplingUsed;

    /// <summary>The name in every table: the arm's, or another one for an arm that is there twice.</summary>
    public string Label => label;

    public IArm Arm => arm;

    public bool IsRunning => _server is not null && _client is not null;

    /// <summary>Starts both processes and the server; connects when the first load needs it.</summary>
    public async Task StartAsync()
    {
        string place = Path.Combine(directory, $"{label}.{_starts++}");
        try
        {
            _server = await PeerProcess.StartAsync($"server of {label}");
            var serve = new PeerRequest(PeerVerb.Serve) { Arm = arm.Name, Place = place };
            PeerReply served = await _server.AskAsync(serve, s_deadline);
            _client = await PeerProcess.StartAsync($"client of {label}");
            var connect = new PeerRequest(PeerVerb.Connect) { Arm = arm.Name, Place = served.Place! };
            await _client.AskAsync(connect, s_deadline);
            _samplingUsed = await CostOfSamplingAsync(_server);
        }
        catch (PeerException)
        {
            await DisposeAsync();
            throw;
        }
    }

    /// <summary>Carries out one slice of load.</summary>
    /// <exception cref="PeerException">It failed; the processes are gone and can be started anew.</exception>
    public async Task<SliceResult> RunAsync(LoadOrder order)
    {
        if (_server is null || _client is null)
        {
            throw new PeerException($"The processes of {label} are gone.");
        }

        try
        {
            PeerReply before = await AskAsync(_server, PeerVerb.Sample);
            PeerReply done = await _client.AskAsync(
                new PeerRequest(PeerVerb.Run) { Order = order },
                s_deadline + TimeSpan.FromSeconds(order.LeadInSeconds + order.Seconds));
            PeerReply after = await AskAsync(_server, PeerVerb.Sample);
            return new SliceResult(
                done.Result!,
                after.Sample!.Value - before.Sample!.Value - _samplingUsed,
                after.ServedMessages - before.ServedMessages,
                after.ServedWrongBytes - before.ServedWrongBytes);
        }
        catch (PeerException)
        {
            await DisposeAsync();
            throw;
        }
    }

    /// <summary>What both processes together have used so far.</summary>
    public async Task<ResourceSample> SampleAsync()
    {
        PeerReply server = await AskAsync(_server!, PeerVerb.Sample);
        PeerReply client = await AskAsync(_client!, PeerVerb.Sample);
        return server.Sample!.Value + client.Sample!.Value;
    }

    public async Task<RuntimeFacts> FactsAsync() => (await AskAsync(_client!, PeerVerb.Facts)).Facts!;

    public async ValueTask DisposeAsync()
    {
        PeerProcess?[] both = [_client, _server];
        _client = _server = null;
        foreach (PeerProcess? peer in both)
        {
            if (peer is not null)
            {
                await peer.DisposeAsync();
            }
        }
    }

    // What lies between two samples besides the load is the answer to the first and the question for the second. Their
    // allocations are the same every time and are taken off; the rest is lost in what threads do anyway.
    private static async Task<ResourceSample> CostOfSamplingAsync(PeerProcess server)
    {
        await AskAsync(server, PeerVerb.Sample);
        ResourceSample first = (await AskAsync(server, PeerVerb.Sample)).Sample!.Value;
        ResourceSample second = (await AskAsync(server, PeerVerb.Sample)).Sample!.Value;
        return new ResourceSample { AllocatedBytes = second.AllocatedBytes - first.AllocatedBytes };
    }

    private static Task<PeerReply> AskAsync(PeerProcess peer, PeerVerb verb) =>
        peer.AskAsync(new PeerRequest(verb), s_deadline);
}
