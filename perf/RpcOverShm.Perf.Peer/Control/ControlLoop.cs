using System.Runtime;

namespace RpcOverShm.Perf.Peer.Control;

/// <summary>
/// The main thread of a measured process: blocked in a read of the next request, or carrying one out. Its own work
/// never falls into a measured window.
/// </summary>
internal sealed class ControlLoop(Stream requests, Stream replies, Func<string, IArm> find)
{
    private readonly StreamReader _requests = new(requests);
    private readonly StreamWriter _replies = new(replies) { AutoFlush = true };
    private readonly FeedReaders _readers = new();
    private LoadRunner? _loads;
    private Func<IArmClient>? _makeClient;
    private IArmClient? _subscriber;
    private IArm? _served;

    /// <summary>Reports that the process has started, and serves requests until there are no more.</summary>
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
            // A failure of the arm is the row's failure, which the suite reports; the peer continues.
            return new LineWriter(PeerVerbs.Error).Add(exception.ToString()).ToString();
        }
    }

    private void CarryOut(LineReader request, LineWriter answer)
    {
        string verb = request.NextText();
        switch (verb)
        {
            case PeerVerbs.Serve:
                _served = find(request.NextText());
                answer.Add(_served.ServeAsync(request.NextText()).GetAwaiter().GetResult());
                break;
            case PeerVerbs.Connect:
                IArm arm = find(request.NextText());
                string place = request.NextText();
                _loads = new LoadRunner(() => arm.MakeClient(place));
                _makeClient = () => arm.MakeClient(place);
                break;
            case PeerVerbs.Call:
                IArm called = find(request.NextText());
                Call(called, request.NextText(), request.NextNumber(), answer);
                break;
            case PeerVerbs.Spin:
                new Thread(Spin) { IsBackground = true, Name = "spinning" }.Start();
                break;
            case PeerVerbs.Block:
                IArm blocking = find(request.NextText());
                Action<int> call = blocking.MakeClient(request.NextText()).OpenDelay();
                PoolResult found = PoolLoad.Run(call, (int)request.NextNumber(), (int)request.NextNumber());
                answer.Add(found.LatestTicks).Add(found.ElapsedTicks);
                break;
            case PeerVerbs.Widen when _loads is not null:
                answer.Add(_loads.Widen(request.NextNumber(), request.NextNumber()));
                break;
            case PeerVerbs.Footprint:
                FootprintSample.Take().Write(answer);
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
                CarryOutFeed(verb, request, answer);
                break;
        }
    }

    private void CarryOutFeed(string verb, LineReader request, LineWriter answer)
    {
        switch (verb)
        {
            case PeerVerbs.Publish when _served is not null:
                FeedLoad.Run(FeedOrder.Read(request), _served.Feed).Write(answer);
                break;
            case PeerVerbs.Subscribe when _makeClient is not null:
                _readers.Widen(_subscriber ??= _makeClient(), request.NextNumber());
                break;
            case PeerVerbs.Expect:
                _readers.Expect(FeedOrder.Read(request));
                break;
            case PeerVerbs.Take:
                _readers.Take().Write(answer);
                break;
            default:
                throw new InvalidOperationException($"The peer cannot '{verb}' now.");
        }
    }

    private static void Spin()
    {
        while (true)
        {
            // To the system, a program that computes.
        }
    }

    // Compiling a load would take longer than compiling the arm.
    private static void Call(IArm arm, string place, long calls, LineWriter answer)
    {
        long compiledBefore = JitInfo.GetCompiledMethodCount();
        IArmClient client = arm.MakeClient(place);
        IEcho echo = client.OpenEchoAsync(CallerKind.Blocking).GetAwaiter().GetResult();
        for (long i = 0; i < calls; i++)
        {
            answer
                .Add(LoadRunner.CallOnce(echo, i, echo.Call))
                .Add(JitInfo.GetCompiledMethodCount() - compiledBefore);
        }
    }
}

/// <summary>
/// Ends this process with its parent: in an orderly way at the end of standard input, and killed by the kernel if it
/// cannot read.
/// </summary>
internal static class ParentTie
{
    /// <summary>Ties this process to its parent, whose process id is the argument.</summary>
    public static void Fasten(string[] args)
    {
        if (!OperatingSystem.IsLinux() || args is not [string parent])
        {
            return;
        }

        ProcessNative.DieWithParent();

        // The parent may have ended before the kernel was asked, which then does not tell.
        if (ProcessNative.GetParentId() != int.Parse(parent, CultureInfo.InvariantCulture))
        {
            Environment.Exit(1);
        }
    }
}
