using System.Text.Json;
using RpcOverShm.Testing;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Tests.Support;

namespace RpcOverShm.Tool.Tests.Commands;

/// <summary>Commands whose server is killed meanwhile.</summary>
public class KilledServerTests
{
    private readonly TestDirectory _directory = new();
    private PeerProcess _server = null!;

    private string SocketPath => _directory.Combine("mortal.sock");

    [SetUp]
    public async Task StartAsync()
    {
        _server = await PeerProcess.StartAsync("RpcOverShm.TestPeer");
        await _server.DoAsync($"serve-reflection shm://mortal {_directory.Path}");
    }

    [TearDown]
    public async Task StopAsync()
    {
        await _server.DisposeAsync();
        _directory.Dispose();
    }

    [Test]
    public async Task Call_InAStream_EndsWithItsStatus()
    {
        using var talk = new Talk();
        Task<int> run = talk.RunAsync("call", SocketPath, "EchoAll", "-");
        talk.Say("""{"data":"AQ=="}""");
        Assert.That(await talk.HearAsync(), Is.EqualTo("""{"data":"AQ=="}"""));

        _server.Kill();

        Assert.That(await run.Bounded(), Is.EqualTo((int)ExitCode.CallFailed));
        Assert.That(talk.Error, Does.StartWith("The call failed with UNAVAILABLE (14): "));
    }

    [Test]
    public async Task Bench_EndsAndTellsWhatItHas()
    {
        using var talk = new Talk();
        Task<int> run = talk.RunAsync(
            "bench", SocketPath, "Conformance/Echo", "-z", "1h", "--warm-up", "0s", "--json");
        using ShmChannel channel = ShmChannel.ForAddress("shm://" + SocketPath);
        var client = new Testing.Protos.Conformance.ConformanceClient(channel);
        for (int i = 0; i < 1000; i++)
        {
            await client.EchoAsync(new Testing.Protos.Payload());
        }

        _server.Kill();

        using var json = JsonDocument.Parse((await talk.HearAsync())!);
        Assert.That(await run.Bounded(), Is.EqualTo((int)ExitCode.NotConnected));
        Assert.That(
            json.RootElement.GetProperty("failures").EnumerateArray()
                .Select(one => one.GetProperty("status").GetString()),
            Is.All.EqualTo("UNAVAILABLE").And.Not.Empty);
    }

    [Test]
    public async Task ListAndClean_AfterwardsShowAndRemoveItsFiles()
    {
        _server.Kill();
        await _server.Exited.Bounded();

        ToolRun list = await RunAsync("ls", "--json");
        ToolRun clean = await RunAsync("clean");
        ToolRun health = await RunAsync("health", "mortal");

        using var json = JsonDocument.Parse(list.Expect(ExitCode.Ok).Out);
        JsonElement one = json.RootElement.EnumerateArray().Single();
        Assert.That(one.GetProperty("isAlive").GetBoolean(), Is.False);
        Assert.That(one.GetProperty("processId").GetInt32(), Is.EqualTo(_server.Id));
        Assert.That(one.GetProperty("version").GetString(), Does.Match(@"^\d+\.\d+\.\d+$"));
        Assert.That(one.TryGetProperty("connections", out _), Is.False);
        Assert.That(clean.Expect(ExitCode.Ok).Lines, Is.EqualTo(new[] { "removed shm://mortal" }));
        health.Expect(ExitCode.NotConnected);
    }

    private Task<ToolRun> RunAsync(params string[] arguments) =>
        ToolRun.RunAsync(TextReader.Null, [.. arguments, "--runtime-directory", _directory.Path]);
}
