using System.Globalization;
using RpcOverShm.Testing;

namespace RpcOverShm.TestPeer;

/// <summary>The commands of the peer. Each takes words and returns the text that follows "ok" in the reply.</summary>
internal sealed class PeerCommands : IAsyncDisposable
{
    private readonly ServeCommands _serve = new();
    private readonly CallCommands _call = new();
    private readonly StreamCommands _stream = new();
    private readonly Dictionary<string, Func<string[], Task<string>>> _commands;

    public PeerCommands() => _commands = new()
    {
        ["serve"] = words => _serve.ServeAsync(words[1], words[2]),
        ["stop"] = words => _serve.StopAsync(words.Length > 1 ? Number(words[1]) : 0),
        ["channel"] = words => _call.OpenAsync(words[1], words[2]),
        ["close"] = _ => _call.CloseAsync(),
        ["shapes"] = _ => _call.EveryShapeAsync(),
        ["echo"] = words => _call.EchoAsync(Number(words[1])),
        ["hammer"] = words => _call.HammerAsync(Number(words[1]), Number(words[2])),
        ["hold"] = words => _call.HoldAsync(words[1]),
        ["mix"] = words => _call.MixAsync(Number(words[1]), Number(words[2])),
        ["stream-listen"] = words => _stream.ListenAsync(words[1], words[2]),
        ["stream-connect"] = words => _stream.ConnectAsync(words[1], words[2]),
        ["stream-accept"] = _ => _stream.AcceptAsync(),
        ["stream-pump"] = words => _stream.PumpAsync(long.Parse(words[1], CultureInfo.InvariantCulture)),
        ["stream-write"] = words => _stream.WriteAsync(Number(words[1])),
        ["stream-read"] = words => _stream.ReadAsync(Number(words[1])),
        ["hello"] = words => HelloCommands.GreetAsync(words[1], Number(words[2]), Number(words[3])),
        ["answer"] = words => HelloCommands.AnswerAsync(words[1], Number(words[2])),
        ["facts"] = _ => Task.FromResult(Facts()),
        ["memory"] = _ => Task.FromResult(Environment.WorkingSet.ToString(CultureInfo.InvariantCulture)),
    };

    public Task<string> RunAsync(string[] words) =>
        _commands.TryGetValue(words[0], out Func<string[], Task<string>>? command)
            ? command(words)
            : throw new ArgumentException($"There is no command '{words[0]}'.");

    public async ValueTask DisposeAsync()
    {
        await _call.DisposeAsync();
        await _stream.DisposeAsync();
        await _serve.DisposeAsync();
    }

    /// <summary>Sends an event to the parent.</summary>
    public static void Emit(string what) => Console.Out.WriteLine("event " + what.ReplaceLineEndings(" "));

    private static int Number(string word) => int.Parse(word, CultureInfo.InvariantCulture);

    private static string Facts()
    {
        var facts = ProcessFacts.OfSelf();
        return string.Create(
            CultureInfo.InvariantCulture, $"{facts.Sockets} {facts.MemoryFiles} {facts.Mappings} {facts.Threads}");
    }
}
