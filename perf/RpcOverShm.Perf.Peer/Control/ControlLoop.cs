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
        _replies.WriteLine(PeerVerbs.Ready);
        while (_requests.ReadLine() is { } line)
        {
            _replies.WriteLine(Answer(line));
        }
    }

    private string Answer(string line)
    {
        try
        {
            var answer = new LineWriter(PeerVerbs.Ok);
            CarryOut(new LineReader(line), answer);
            return answer.ToString();
        }
        catch (Exception exception)
        {
            // A failure of the arm is the row's failure; the suite says so, and what the peer can still do it does.
            return new LineWriter(PeerVerbs.Error).Add(exception.ToString()).ToString();
        }
    }

    private void CarryOut(LineReader request, LineWriter answer)
    {
        string verb = request.NextText();
        switch (verb)
        {
            case PeerVerbs.Serve:
                IArm served = ArmCatalog.Find(request.NextText());
                answer.Add(served.ServeAsync(request.NextText()).GetAwaiter().GetResult());
                break;
            case PeerVerbs.Connect:
                IArm arm = ArmCatalog.Find(request.NextText());
                _loads = new LoadRunner(arm.MakeClient(request.NextText()));
                break;
            case PeerVerbs.Run when _loads is not null:
                _loads.Run(LoadOrder.Read(request)).Write(answer);
                break;
            case PeerVerbs.Sample:
                PeerSample.Take().Write(answer);
                break;
            case PeerVerbs.Facts:
                RuntimeFacts.Collect().Write(answer);
                break;
            default:
                throw new InvalidOperationException($"The peer cannot '{verb}' now.");
        }
    }
}
