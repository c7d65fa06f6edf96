using System.Text.Json;
using Grpc.Health.V1;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Tests.Support;

namespace RpcOverShm.Tool.Tests.Commands;

/// <summary>The commands that ask a server what it offers and how it is.</summary>
public class ServerTests
{
    private TestServer _server = null!;

    [SetUp]
    public async Task StartAsync() => _server = await TestServer.StartAsync();

    [TearDown]
    public async Task StopAsync() => await _server.DisposeAsync();

    [Test]
    public async Task Services_OfAServer_ListsThemWithTheirMethods()
    {
        ToolRun run = await _server.RunAsync("services", TestServer.Name);

        Assert.That(run.Expect(ExitCode.Ok).Lines, Does.Contain("grpc.health.v1.Health")
            .And.Contains("rpcovershm.tool.test.Notes")
            .And.Contains("  rpc List(rpcovershm.tool.test.ListRequest) returns (stream rpcovershm.tool.test.Note)"));
    }

    [Test]
    public async Task Services_AsJson_IsOneLine()
    {
        ToolRun run = await _server.RunAsync("services", TestServer.Name, "--json");

        using var json = JsonDocument.Parse(run.Expect(ExitCode.Ok).Lines.Single());
        JsonElement notes = json.RootElement.EnumerateArray()
            .Single(service => service.GetProperty("name").GetString() == "rpcovershm.tool.test.Notes");
        JsonElement chat = notes.GetProperty("methods").EnumerateArray()
            .Single(method => method.GetProperty("name").GetString() == "Chat");
        Assert.That(chat.GetProperty("isClientStreaming").GetBoolean(), Is.True);
        Assert.That(chat.GetProperty("isServerStreaming").GetBoolean(), Is.True);
        Assert.That(chat.GetProperty("request").GetString(), Is.EqualTo("rpcovershm.tool.test.Note"));
    }

    [Test]
    public async Task Describe_WithoutASymbol_ShowsAllServices()
    {
        ToolRun run = await _server.RunAsync("describe", TestServer.Name);

        Assert.That(run.Expect(ExitCode.Ok).Out, Does.Contain("service Notes {").And.Contains("service Health {"));
    }

    [TestCase("rpcovershm.tool.test.Note")]
    [TestCase(".rpcovershm.tool.test.Note")]
    [TestCase("Note")]
    public async Task Describe_OfAMessage_ShowsIt(string symbol)
    {
        ToolRun run = await _server.RunAsync("describe", TestServer.Name, symbol);

        Assert.That(run.Expect(ExitCode.Ok).Out, Does.StartWith(
            "// rpcovershm.tool.test.Note of notes.proto\nmessage Note {\n  int64 number = 1;\n"));
    }

    [Test]
    public async Task Describe_OfAMethodAsJson_HasItsKindAndText()
    {
        ToolRun run = await _server.RunAsync("describe", TestServer.Name, "rpcovershm.tool.test.Notes/Add", "--json");

        using var json = JsonDocument.Parse(run.Expect(ExitCode.Ok).Out);
        Assert.That(json.RootElement[0].GetProperty("kind").GetString(), Is.EqualTo("method"));
        Assert.That(json.RootElement[0].GetProperty("proto").GetString(), Does.Contain("rpc Add("));
    }

    [Test]
    public async Task Describe_OfAnUnknownSymbol_NamesTheNearest()
    {
        ToolRun run = await _server.RunAsync("describe", TestServer.Name, "rpcovershm.tool.test.Note5");

        Assert.That(run.Expect(ExitCode.BadInput).Error, Does.Contain("Did you mean 'rpcovershm.tool.test.Note'"));
    }

    [TestCase(HealthCheckResponse.Types.ServingStatus.Serving, "SERVING", ExitCode.Ok)]
    [TestCase(HealthCheckResponse.Types.ServingStatus.NotServing, "NOT_SERVING", ExitCode.NotServing)]
    public async Task Health_OfAServer_IsItsAnswer(
        HealthCheckResponse.Types.ServingStatus status, string text, object code)
    {
        _server.Health.SetStatus("", status);

        ToolRun run = await _server.RunAsync("health", TestServer.Name);
        ToolRun json = await _server.RunAsync("health", TestServer.Name, "--json");

        Assert.That(run.Expect((ExitCode)code).Out, Is.EqualTo(text + "\n"));
        Assert.That(json.Expect((ExitCode)code).Out, Is.EqualTo($"{{\"service\":\"\",\"status\":\"{text}\"}}\n"));
    }

    [Test]
    public async Task Health_OfAnUnknownService_IsTheStatusOfTheCall()
    {
        ToolRun run = await _server.RunAsync("health", TestServer.Name, "no.Such");

        Assert.That(run.Expect(ExitCode.CallFailed).Error, Does.StartWith("The call failed with NOT_FOUND (5)"));
    }

    [Test]
    public async Task Health_OfAServerWithoutIt_SaysHowToAddIt()
    {
        await using TestServer plain = await TestServer.StartPlainAsync();

        ToolRun run = await plain.RunAsync("health", TestServer.Name);

        Assert.That(
            run.Expect(ExitCode.NotOffered).Error, Does.Contain("has no health service").And.Contains("Add it"));
    }

    [TestCase("services")]
    [TestCase("describe")]
    [TestCase("health")]
    public async Task Command_ForANameThatNobodyServes_NamesThoseThatAreThere(string command)
    {
        ToolRun run = await _server.RunAsync(command, "nothing", "--json");

        Assert.That(run.Expect(ExitCode.NotConnected).Error, Does.Contain("notes/one").And.StartsWith("{\"error\":{"));
    }
}
