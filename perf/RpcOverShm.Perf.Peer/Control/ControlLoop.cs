using System.Text.Json;
using RpcOverShm.Perf.Peer.Arms;
using RpcOverShm.Perf.Peer.Loads;
using RpcOverShm.Perf.Peer.Recording;

namespace RpcOverShm.Perf.Peer.Control;

/// <summary>
/// The main thread of a measured process: blocked in a read of the next request, or carrying one out. Its own work
/// never falls into a measured window.
/// </summary>
internal sealed class ControlLoop(Stream requests, Stream replies)
{
    private readonly StreamReader _requests = new(requests);
    private readonly StreamWriter _replies = new(replies) { AutoFlush = true };
    private LoadRunner? _loads;

    /// <summary>Says that the process has started, and serves requests until there are no more.</summary>
    public void Run()
    {
        _replies.WriteLine(ControlJson.Ready);
        while (_requests.ReadLine() is { } line)
        {
            _replies.WriteLine(JsonSerializer.Serialize(Answer(line), ControlJson.Options));
        }
    }

    private PeerReply Answer(string line)
    {
        try
        {
            PeerRequest request = JsonSerializer.Deserialize<PeerRequest>(line, ControlJson.Options)!;
            return request.Verb switch
            {
                PeerVerb.Serve => new PeerReply { Place = ServeAsync(request).GetAwaiter().GetResult() },
                PeerVerb.Connect => Connect(request),
                PeerVerb.Run => new PeerReply { Result = Loads.Run(request.Order!) },
                PeerVerb.Sample => Sample(),
                PeerVerb.Facts => new PeerReply { Facts = RuntimeFacts.Collect() },
                _ => new PeerReply { Error = $"The peer knows no verb '{request.Verb}'." },
            };
        }
        catch (Exception exception)
        {
            // A failure of the arm is the row's failure; the suite says so, and what the peer can still do it does.
            return new PeerReply { Error = exception.ToString() };
        }
    }

    private LoadRunner Loads => _loads ?? throw new InvalidOperationException("The peer is no client yet.");

    private static Task<string> ServeAsync(PeerRequest request) =>
        ArmCatalog.Find(request.Arm).ServeAsync(request.Place);

    private PeerReply Connect(PeerRequest request)
    {
        _loads = new LoadRunner(ArmCatalog.Find(request.Arm).MakeClient(request.Place));
        return new PeerReply();
    }

    private static PeerReply Sample() => new()
    {
        Sample = ResourceSample.Take(),
        ServedMessages = ServedTally.Messages,
        ServedWrongBytes = ServedTally.WrongBytes,
    };
}
