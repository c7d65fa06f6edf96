using System.Net.Sockets;
using System.Text.Json;
using System.Text.RegularExpressions;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using RpcOverShm.Testing;
using RpcOverShm.Tool.Commands;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Tests.Support;

namespace RpcOverShm.Tool.Tests.Commands;

/// <summary>The statistics of servers in other processes, of servers without any, and of servers that lie.</summary>
public partial class TopTests
{
    private readonly TestDirectory _directory = new();

    [TearDown]
    public void RemoveDirectory() => _directory.Dispose();

    [Test]
    public async Task Top_OfABusyServerOfAnotherProcess_ShowsItsLoad()
    {
        await using PeerProcess server = await StartServerAsync();
        using ShmChannel channel = Channel();
        using var stop = new CancellationTokenSource();
        Task calls = CallUntilAsync(channel, stop.Token);

        ToolRun run = await RunAsync("top", "busy", "--json", "--count", "2", "--interval", "500ms");
        await stop.CancelAsync();
        await calls;

        string[] lines = run.Expect(ExitCode.Ok).Lines;
        Assert.That(lines, Has.Length.EqualTo(2));
        using var json = JsonDocument.Parse(lines[1]);
        JsonElement one = json.RootElement.GetProperty("clients").EnumerateArray().Single();
        Assert.That(json.RootElement.GetProperty("processId").GetInt32(), Is.EqualTo(server.Id));
        Assert.That(json.RootElement.GetProperty("connections").GetInt32(), Is.EqualTo(1));
        Assert.That(one.GetProperty("processId").GetInt32(), Is.EqualTo(Environment.ProcessId));
        Assert.That(one.GetProperty("callsPerSecond").GetDouble(), Is.Positive);
        Assert.That(one.GetProperty("serverRing").GetInt64(), Is.GreaterThanOrEqualTo(64 << 10));
    }

    // One call in 64 is measured, from the first look on.
    [Test]
    public async Task Top_OfManyCalls_MeasuresSomeLatencies()
    {
        await using PeerProcess server = await StartServerAsync();
        using ShmChannel channel = Channel();
        using var talk = new Talk();
        using var interrupt = new CancellationTokenSource();
        Task<int> top = talk.RunAsync(
            interrupt.Token, "top", _directory.Combine("busy.sock"), "--json", "--interval", "500ms");
        JsonElement client = default;
        for (long samples = 0; samples == 0;)
        {
            await CallAsync(channel, 1000);
            using var json = JsonDocument.Parse((await talk.HearAsync())!);
            foreach (JsonElement found in json.RootElement.GetProperty("clients").EnumerateArray())
            {
                client = found.Clone();
                samples = client.GetProperty("samples").GetInt64();
            }
        }

        await interrupt.CancelAsync();

        Assert.That(await top.Bounded(), Is.Zero);
        Assert.That(client.GetProperty("p50Us").GetDouble(), Is.Positive);
        Assert.That(
            client.GetProperty("p99Us").GetDouble(), Is.GreaterThanOrEqualTo(client.GetProperty("p50Us").GetDouble()));
    }

    [Test]
    public async Task Top_OfAServerThatIsKilled_EndsAndSaysSo()
    {
        await using PeerProcess server = await StartServerAsync();
        using ShmChannel channel = Channel();
        await channel.ConnectAsync().Bounded();
        using var talk = new Talk();
        Task<int> top = talk.RunAsync("top", _directory.Combine("busy.sock"), "--interval", "500ms");
        Assert.That(await talk.HearAsync(), Does.Contain($"process {server.Id}: 1 connection,"));

        server.Kill();

        Assert.That(await top.Bounded(), Is.EqualTo((int)ExitCode.NotConnected));
        Assert.That(talk.Error, Does.Contain("has stopped, or its process has ended"));
    }

    [TestCase(40)]
    [TestCase(80)]
    [TestCase(120)]
    public async Task Top_OnATerminal_FitsIt(int width)
    {
        await using PeerProcess server = await StartServerAsync();
        using ShmChannel channel = Channel();
        await channel.ConnectAsync().Bounded();
        var output = new StringWriter { NewLine = "\n" };
        var console = new ToolConsole(
            TextReader.Null, output, TextWriter.Null, width, isColoured: true, isLive: true);

        int code = await CommandLine.RunAsync(
            ["top", _directory.Combine("busy.sock"), "--count", "1", "--interval", "500ms"], console).Bounded();

        Assert.That(code, Is.Zero);
        string plain = AnsiCode().Replace(output.ToString(), "");
        Assert.That(plain.Split('\n', '\r').Select(line => line.Length), Has.All.AtMost(width));
        Assert.That(plain, Does.Contain("CALLS/S").And.Contains("P99"));
        Assert.That(plain.Contains("KEPT", StringComparison.Ordinal), Is.EqualTo(width >= 100));
    }

    [Test]
    public async Task Top_OfAServerWithoutStatistics_SaysSo()
    {
        var options = new ShmStreamListenerOptions();
        options.Listen.RuntimeDirectory = _directory.Path;
        await using var listener = new ShmStreamListener("shm://streams", options);
        listener.Start();

        ToolRun run = await RunAsync("top", "streams");

        Assert.That(
            run.Expect(ExitCode.NotOffered).Error,
            Does.Contain("has no statistics: its library is older than this tool, or it serves byte streams"));
    }

    [Test]
    public async Task Top_OfANameThatNobodyServes_IsNotConnected()
    {
        ToolRun run = await RunAsync("top", "nothing", "--json");

        Assert.That(run.Expect(ExitCode.NotConnected).Error, Does.StartWith("{\"error\":{").And.Contains("nothing"));
    }

    [TestCase("--interval", "10ms")]
    [TestCase("--count", "0")]
    [TestCase("--interval", "soon")]
    public async Task Top_WithABadOption_SaysWhatIsAllowed(string option, string value)
    {
        ToolRun run = await RunAsync("top", "nothing", option, value);

        Assert.That(run.Expect(ExitCode.BadInput).Error, Does.Contain("--interval"));
    }

    // The test plays the server, and shares a page that it never wrote.
    [Test]
    public async Task Top_OfAPageThatIsNone_SaysThatItIsUnreadable()
    {
        using Socket listening = UnixSockets.Listen(_directory.Combine("liar.sock"), 1);
        using SharedPage page = SharedPage.Create();
        Task<ToolRun> run = RunAsync("top", "liar");
        using Socket socket = await listening.AcceptAsync().Bounded();
        using Handshake.ReceivedHello? hello = await Handshake.ReceiveAsync(
            new SocketWire(socket), CancellationToken.None).Bounded();
        Hello answer = hello!.Hello with
        {
            Type = HelloType.Server,
            Limits = hello.Hello.Limits with { RingCapacity = SharedPage.SizeBytes },
        };

        new SocketWire(socket).Send(answer.Encode(), [page.Handle]);

        Assert.That(
            (await run.Bounded()).Expect(ExitCode.NotOffered).Error,
            Does.Contain("are unreadable").And.Contains("magic number"));
    }

    [GeneratedRegex("\u001b\\[[0-9;?]*[a-zA-Z]")]
    private static partial Regex AnsiCode();

    private static async Task CallAsync(ShmChannel channel, int count)
    {
        var client = new Testing.Protos.Conformance.ConformanceClient(channel);
        for (int i = 0; i < count; i++)
        {
            await client.EchoAsync(new Testing.Protos.Payload());
        }
    }

    private static async Task CallUntilAsync(ShmChannel channel, CancellationToken stop)
    {
        while (!stop.IsCancellationRequested)
        {
            await CallAsync(channel, 10);
        }
    }

    private async Task<PeerProcess> StartServerAsync()
    {
        PeerProcess server = await PeerProcess.StartAsync("RpcOverShm.TestPeer");
        await server.DoAsync($"serve-default shm://busy {_directory.Path}");
        return server;
    }

    private ShmChannel Channel() => ShmChannel.ForAddress("shm://" + _directory.Combine("busy.sock"));

    private Task<ToolRun> RunAsync(params string[] arguments) =>
        ToolRun.RunAsync(TextReader.Null, [.. arguments, "--runtime-directory", _directory.Path]);
}
