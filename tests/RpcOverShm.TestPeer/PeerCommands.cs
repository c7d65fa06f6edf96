using System.Globalization;
using RpcOverShm.MessagePack;
using RpcOverShm.TestPeer.Soak;
using RpcOverShm.TestPeer.Traces;
using RpcOverShm.Testing;

namespace RpcOverShm.TestPeer;

/// <summary>The commands of the peer. Each takes words and returns the text that follows "ok" in the reply.</summary>
internal sealed class PeerCommands : IAsyncDisposable
{
    private readonly ServeCommands _serve = new();
    private readonly CallCommands _call = new();
    private readonly LoanCommands _loan = new();
    private readonly HandleCommands _handle = new();
    private readonly StreamCommands _stream = new();
    private readonly SoakCommands _soak = new();
    private readonly InFlightCommands _inFlight = new();
    private readonly FuseCommands _fuse = new();
    private readonly TraceCommands _trace = new();
    private readonly Dictionary<string, Func<string[], Task<string>>> _commands;

    public PeerCommands() => _commands = new()
    {
        ["serve"] = words => _serve.ServeAnySizeAsync(
            words[1], Place(words), Others(words, 3), Others(words, 4), words.Length > 5 ? Number(words[5]) : null),
        ["serve-default"] = words => _serve.ServeAsync(
            words[1], new ShmServerOptions { Listen = { RuntimeDirectory = Place(words) } }),
        ["serve-reflection"] = words => _serve.ServeReflectedAsync(words[1], Place(words)),
        ["served"] = _ => Task.FromResult(_serve.Count()),
        ["stop"] = words => _serve.StopAsync(words.Length > 1 ? Number(words[1]) : 0),
        ["channel"] = words => _call.OpenAsync(words[1], Place(words), Others(words, 3), Codec(words)),
        ["callback-channel"] = words => _call.OpenAsync(words[1], Place(words), [], options =>
        {
            options.Scheduling = Enum.Parse<ShmSchedulingMode>(words[3]);
            options.Callbacks.Services.Add(new Script().Build());
        }),
        ["blocking-callback-channel"] = words => _call.OpenForBlockingCallbacksAsync(
            words[1], Place(words), Enum.Parse<ShmSchedulingMode>(words[3])),
        ["flood"] = words => _call.FloodAsync(words[1]),
        ["callbacks-without-pool"] = words => _call.CallbacksWithoutPoolAsync(Number(words[1])),
        ["channels"] = words => _call.OpenManyAsync(words[1], Place(words), Others(words, 3), Number(words[4])),
        ["close"] = _ => _call.CloseAsync(),
        ["shapes"] = _ => _call.EveryShapeAsync(),
        ["echo"] = words => _call.EchoAsync(Number(words[1])),
        ["one-way"] = words => _call.OneWayAsync(Number(words[1]), Number(words[2])),
        ["hammer"] = words => _call.HammerAsync(Number(words[1]), Number(words[2])),
        ["deadline-without-pool"] = words => _call.DeadlineWithoutPoolAsync(Number(words[1])),
        ["deadline-in-callbacks"] = words => ThreadCommands.DeadlineInCallbacksAsync(
            words[1], Place(words), Number(words[3])),
        ["block-pool"] = words => ThreadCommands.BlockPoolAsync(words[1], Place(words), Number(words[3])),
        ["crowd"] = words => WatchdogCommands.CountAsync(Place(words, 1), Number(words[2]), Number(words[3])),
        ["watchless"] = words => WatchdogCommands.WithoutThreadAsync(Place(words, 1)),
        ["hold"] = words => _call.HoldAsync(words[1]),
        ["mix"] = words => _call.MixAsync(Number(words[1]), Number(words[2])),
        ["reconnect"] = words => CallCommands.ReconnectAsync(words[1], Place(words)),
        ["stream-listen"] = words => _stream.ListenAsync(
            words[1], Place(words), Others(words, 3), words.Length > 4 ? Number(words[4]) : null),
        ["stream-connect"] = words => _stream.ConnectAsync(words[1], Place(words), Others(words, 3)),
        ["stream-crowd"] = words => _stream.ConnectManyAsync(
            words[1], Place(words), Others(words, 3), Number(words[4])),
        ["stream-accept"] = _ => _stream.AcceptAsync(),
        ["stream-pump"] = words => _stream.PumpAsync(long.Parse(words[1], CultureInfo.InvariantCulture)),
        ["stream-write"] = words => _stream.WriteAsync(Number(words[1])),
        ["stream-read"] = words => _stream.ReadAsync(Number(words[1])),
        ["hello"] = words => HelloCommands.GreetAsync(words[1], Number(words[2]), Number(words[3])),
        ["answer"] = words => HelloCommands.AnswerAsync(words[1], Number(words[2])),
        ["soak"] = words => _soak.RunAsync(words[1..]),
        ["leave-child"] = _ => Task.FromResult(ChildCommands.LeaveChild()),
        ["reach"] = words => Task.FromResult(ReachCommands.Reach(Number(words[1]))),
        ["send-descriptors"] = _ => Task.FromResult(_inFlight.SendAll()),
        ["drop-descriptors"] = _ => Task.FromResult(_inFlight.Drop()),
        ["fuse"] = words => Task.FromResult(_fuse.Mount(words[1])),
        ["fuse-mute"] = _ => Task.FromResult(_fuse.Mute()),
        ["trace-serve"] = words => _trace.ServeAsync(words[1], words[2]),
        ["trace-call"] = words => _trace.CallAsync(words[1], words[2], Number(words[3])),
        ["trace-start"] = _ => TraceCommands.StartAsync(),
        ["trace-write"] = words => TraceCommands.WriteAsync(words[1]),
        ["facts"] = _ => Task.FromResult(Facts()),
        ["heap"] = _ => Task.FromResult(Heap()),
        ["memory"] = _ => Task.FromResult(Environment.WorkingSet.ToString(CultureInfo.InvariantCulture)),
    };

    public Task<string> RunAsync(string[] words) =>
        Find(words[0]) is { } command
            ? command(words)
            : throw new ArgumentException($"There is no command '{words[0]}'.");

    public async ValueTask DisposeAsync()
    {
        await _soak.DisposeAsync();
        await _call.DisposeAsync();
        await _loan.DisposeAsync();
        await _handle.DisposeAsync();
        await _stream.DisposeAsync();
        await _serve.DisposeAsync();
        await _trace.DisposeAsync();
        _inFlight.Drop();
    }

    /// <summary>Sends an event to the parent.</summary>
    public static void Emit(string what) => Console.Out.WriteLine("event " + what.ReplaceLineEndings(" "));

    private Func<string[], Task<string>>? Find(string name) => name switch
    {
        "serve-loans" => words => _serve.ServeLoansAsync(words[1], Place(words)),
        "serve-handles" => words => _serve.ServeAsync(
            words[1],
            new ShmServerOptions { Listen = { RuntimeDirectory = Place(words) }, Handles = { AllowHandles = true } },
            _handle.Build()),
        "handle-channel" => words => _handle.OpenAsync(words[1], Place(words)),
        "handle-calls" => words => _handle.BeginAsync(Number(words[1]), words[2]),
        "loan-channel" => words => _loan.OpenAsync(words[1], Place(words)),
        "loan-calls" => words => _loan.CallAsync(Number(words[1]), (byte)Number(words[2])),
        _ => _commands.GetValueOrDefault(name),
    };

    private static int Number(string word) => int.Parse(word, CultureInfo.InvariantCulture);

    /// <summary>Returns the bytes of all living objects, and the resident memory, after a full collection.</summary>
    private static string Heap()
    {
        GC.Collect(2, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        long living = GC.GetTotalMemory(forceFullCollection: true);
        return string.Create(CultureInfo.InvariantCulture, $"{living} {Environment.WorkingSet}");
    }

    // The runtime directory of an address; "-" for the default one.
    private static string? Place(string[] words, int index = 2) => words[index] == "-" ? null : words[index];

    // A list of users or groups as "1234,nobody"; "-" or nothing for none.
    private static string[] Others(string[] words, int index) =>
        words.Length > index && words[index] != "-" ? words[index].Split(',') : [];

    // The word "packed" after the others is for messages in MessagePack.
    private static Action<ShmChannelOptions>? Codec(string[] words) =>
        words.Length > 4 && words[4] == "packed" ? options => options.Codec = ShmMessagePackCodec.Instance : null;

    private static string Facts()
    {
        var facts = ProcessFacts.OfSelf();
        return string.Create(
            CultureInfo.InvariantCulture, $"{facts.Sockets} {facts.MemoryFiles} {facts.Mappings} {facts.Threads}");
    }
}
