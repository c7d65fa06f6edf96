using System.Text.Json;
using System.Text.RegularExpressions;
using RpcOverShm.Testing;
using RpcOverShm.Tool.Commands;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Tests.Support;

namespace RpcOverShm.Tool.Tests.Commands;

/// <summary>Loads of both kinds on methods of every shape, and what is told of them.</summary>
public partial class BenchTests
{
    private TestServer _server = null!;

    [SetUp]
    public async Task StartAsync() => _server = await TestServer.StartAsync();

    [TearDown]
    public async Task StopAsync() => await _server.DisposeAsync();

    [TestCase("Add", """{"text":"a"}""")]
    [TestCase("Notes/List", """{"count":3}""")]
    [TestCase("Import", """{"text":"a"}{"text":"b"}""")]
    [TestCase("Chat", """{"text":"a"}{"text":"b"}""")]
    [TestCase("Import", null)]
    public async Task Bench_OfEachShape_CountsItsCalls(string method, string? request)
    {
        string[] json = request is null ? [] : [request];

        JsonElement result = await MeasureAsync(ExitCode.Ok, [method, .. json, "-n", "100", "-c", "4"]);

        Assert.That(result.GetProperty("calls").GetInt64(), Is.EqualTo(100));
        Assert.That(result.GetProperty("failed").GetInt64(), Is.Zero);
        Assert.That(result.GetProperty("otherAnswers").GetInt64(), Is.Zero);
        Assert.That(result.GetProperty("callers").GetInt32(), Is.EqualTo(4));
        Assert.That(result.GetProperty("method").GetString(), Does.StartWith("rpcovershm.tool.test.Notes/"));
        JsonElement latency = result.GetProperty("latencyUs");
        double[] rising =
        [
            .. new[] { "p50", "p75", "p90", "p95", "p99", "p99.9", "longest" }
                .Select(name => latency.GetProperty(name).GetDouble()),
        ];
        Assert.That(rising, Is.Ordered.And.All.Positive);
        Assert.That(
            result.GetProperty("distribution").EnumerateArray().Sum(one => one.GetProperty("count").GetInt64()),
            Is.EqualTo(100));
    }

    [Test]
    public async Task Bench_OverSeveralConnections_OpensThem()
    {
        JsonElement result = await MeasureAsync(ExitCode.Ok, "Add", "-n", "50", "-c", "5", "--connections", "3");

        Assert.That(result.GetProperty("connections").GetInt32(), Is.EqualTo(3));
        await Timeouts.Eventually(() => _server.StartedSessions == 4, "three, and that of the reflection");
    }

    [Test]
    public async Task Bench_ForATime_EndsAfterIt()
    {
        JsonElement result = await MeasureAsync(ExitCode.Ok, "Add", "-z", "300ms", "--warm-up", "100ms");

        Assert.That(result.GetProperty("seconds").GetDouble(), Is.GreaterThanOrEqualTo(0.3));
        Assert.That(result.GetProperty("calls").GetInt64(), Is.Positive);
        Assert.That(
            result.GetProperty("perSecond").GetDouble(),
            Is.EqualTo(result.GetProperty("calls").GetInt64() / result.GetProperty("seconds").GetDouble())
                .Within(1).Percent);
    }

    [Test]
    public async Task Bench_OfARate_MakesThatManyCalls()
    {
        JsonElement result = await MeasureAsync(ExitCode.Ok, "Add", "-r", "200", "-n", "60", "-c", "50");

        Assert.That(result.GetProperty("calls").GetInt64(), Is.EqualTo(60));
        Assert.That(result.GetProperty("rate").GetDouble(), Is.EqualTo(200));
        Assert.That(result.GetProperty("seconds").GetDouble(), Is.GreaterThanOrEqualTo(59 / 200.0));
    }

    // One call at a time, each of which takes 50 ms and more, where one is due each 10 ms: a call that waits for its
    // turn has its latency from the time at which it was due.
    [Test]
    public async Task Bench_OfARateThatTheServerCannotKeep_CountsTheWaiting()
    {
        _server.Notes.Pause = TimeSpan.FromMilliseconds(50);

        JsonElement result = await MeasureAsync(ExitCode.Ok, "Add", "-r", "100", "-z", "1s", "-c", "1");

        Assert.That(result.GetProperty("latencyUs").GetProperty("p50").GetDouble(), Is.GreaterThan(100_000));
        Assert.That(result.GetProperty("notBegun").GetInt64(), Is.InRange(50, 100));
        Assert.That(
            result.GetProperty("calls").GetInt64() + result.GetProperty("notBegun").GetInt64(), Is.EqualTo(100));
    }

    [Test]
    public async Task Bench_OfCallsThatFail_CountsThemByStatus()
    {
        JsonElement result = await MeasureAsync(
            ExitCode.CallFailed, "Fail", """{"statusCode":5,"detail":"no such note"}""", "-n", "20");

        Assert.That(result.GetProperty("calls").GetInt64(), Is.Zero);
        Assert.That(result.GetProperty("failed").GetInt64(), Is.EqualTo(20));
        Assert.That(
            result.GetProperty("failures").GetRawText(),
            Is.EqualTo("""[{"status":"NOT_FOUND","count":20,"example":"no such note"}]"""));
        Assert.That(result.TryGetProperty("latencyUs", out _), Is.False);
    }

    [TestCase(false, ExitCode.Ok)]
    [TestCase(true, ExitCode.CallFailed)]
    public async Task Bench_OfAnswersThatDiffer_CountsThem(bool isExpected, object code)
    {
        _server.Notes.CountsCalls = true;
        string[] option = isExpected ? ["--expect-same"] : [];

        JsonElement result = await MeasureAsync((ExitCode)code, ["Add", "-n", "10", "-c", "1", .. option]);

        Assert.That(result.GetProperty("otherAnswers").GetInt64(), Is.EqualTo(9));
    }

    [TestCase(40, false)]
    [TestCase(40, true)]
    [TestCase(100, true)]
    public async Task Bench_OnATerminal_FitsItAndShowsAPicture(int width, bool isLive)
    {
        var output = new StringWriter { NewLine = "\n" };
        var error = new StringWriter { NewLine = "\n" };
        var console = new ToolConsole(TextReader.Null, output, error, width, isColoured: isLive, isLive);

        int code = await CommandLine.RunAsync(
            ["bench", _server.SocketPath, "Add", "-n", "200", "--warm-up", "150ms"], console).Bounded();

        Assert.That(code, Is.Zero);
        string plain = AnsiCode().Replace(output.ToString(), "");
        string[] lines = plain.Split('\n');
        Assert.That(lines.Skip(2).Select(line => line.Length), Has.All.AtMost(width));
        Assert.That(plain, Does.Contain("p99.9").And.Contains("■").And.Contains("≤"));
        Assert.That(error.ToString().Length > 0, Is.EqualTo(isLive), "the progress");
    }

    [Test]
    public async Task Bench_ThatIsInterrupted_TellsWhatItHas()
    {
        using var interrupt = new CancellationTokenSource();
        using var talk = new Talk();
        Task<int> run = talk.RunAsync(
            interrupt.Token, "bench", _server.SocketPath, "Add", "-z", "1h", "--warm-up", "0s", "--json");
        await Timeouts.Eventually(() => _server.Notes.Added > 100);
        await interrupt.CancelAsync();

        using var json = JsonDocument.Parse((await talk.HearAsync())!);
        Assert.That(json.RootElement.GetProperty("calls").GetInt64(), Is.Positive);
        Assert.That(json.RootElement.GetProperty("failed").GetInt64(), Is.Zero);
        Assert.That(await run.Bounded(), Is.EqualTo((int)ExitCode.Interrupted));
    }

    [TestCase("--concurrency is from 1 to 10000; not 0.", "-c", "0")]
    [TestCase("--connections is from 1", "--connections", "9")]
    [TestCase("--rps is above 0", "-r", "0")]
    [TestCase("--total is 1 or more", "-n", "0")]
    [TestCase("--duration is a time above 0", "-z", "0s")]
    [TestCase("--warm-up is a time of 0 or more", "--warm-up", "x")]
    [TestCase("takes one message and got 2", "{}{}")]
    [TestCase("text: expected a string", """{"text":5}""")]
    public async Task Bench_WithABadOption_SaysWhatIsAllowed(string text, params string[] arguments)
    {
        ToolRun run = await _server.RunAsync(["bench", TestServer.Name, "Add", .. arguments]);

        Assert.That(run.Expect(ExitCode.BadInput).Error, Does.Contain(text));
    }

    [GeneratedRegex("\u001b\\[[0-9;?]*[a-zA-Z]")]
    private static partial Regex AnsiCode();

    private async Task<JsonElement> MeasureAsync(ExitCode code, params string[] arguments)
    {
        string[] warmUp = arguments.Contains("--warm-up") ? [] : ["--warm-up", "0s"];
        ToolRun run = await _server.RunAsync(["bench", TestServer.Name, .. arguments, .. warmUp, "--json"]);
        using var json = JsonDocument.Parse(run.Expect(code).Lines.Single());
        return json.RootElement.Clone();
    }
}
