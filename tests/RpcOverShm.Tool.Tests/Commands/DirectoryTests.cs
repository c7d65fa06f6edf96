using System.Text.Json;
using System.Text.RegularExpressions;
using RpcOverShm.Testing;
using RpcOverShm.Tool.Commands;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Tests.Support;

namespace RpcOverShm.Tool.Tests.Commands;

/// <summary>The commands that look at the runtime directory.</summary>
public partial class DirectoryTests
{
    [Test]
    public async Task List_OfLivingAndDeadServers_ShowsBoth()
    {
        await using TestServer server = await TestServer.StartAsync();
        using ShmChannel channel = await ConnectAsync(server);
        DeadServer.Leave(Path.Combine(server.Directory, "gone.sock"), "77\n");
        File.WriteAllText(Path.Combine(server.Directory, "no-socket.sock"), "");

        ToolRun run = await server.RunAsync("ls");

        string[] lines = run.Expect(ExitCode.Ok).Lines;
        Assert.That(lines, Has.Length.EqualTo(3));
        Assert.That(Words(lines[0]), Is.EqualTo(new[] { "ADDRESS", "STATE", "PROCESS", "AGE", "CLIENTS", "VERSION" }));
        Assert.That(Words(lines[1])[..3], Is.EqualTo(new[] { "shm://gone", "dead", "77" }));
        Assert.That(
            Words(lines[2])[..3], Is.EqualTo(new[] { "shm://notes/one", "alive", $"{Environment.ProcessId}" }));
        Assert.That(Words(lines[2])[^2], Is.EqualTo("1"));
        Assert.That(Words(lines[2])[^1], Does.Match(@"^\d+\.\d+\.\d+$"));
        Assert.That(run.Out, Does.Not.Contain('\u001b'));
        Assert.That(run.Error, Does.Contain("rpcshm clean"));
    }

    [Test]
    public async Task List_OnATerminalOf40Columns_FitsItAndHasColours()
    {
        using var directory = new TestDirectory();
        DeadServer.Leave(directory.Combine("a-server-with-a-name-that-is-long.sock"), "77\n");
        var output = new StringWriter { NewLine = "\n" };
        var console = new ToolConsole(TextReader.Null, output, TextWriter.Null, width: 40, isColoured: true);

        int code = await CommandLine.RunAsync(["ls", "--runtime-directory", directory.Path], console);

        Assert.That(code, Is.Zero);
        string plain = AnsiCode().Replace(output.ToString(), "");
        Assert.That(plain, Is.Not.EqualTo(output.ToString()), "colours");
        Assert.That(plain.Split('\n').Select(line => line.Length), Has.All.AtMost(40));
        Assert.That(plain, Does.Contain("shm://").And.Contains("dead").And.Contains("77"));
    }

    [Test]
    public async Task List_AsJson_HasTheFacts()
    {
        await using TestServer server = await TestServer.StartAsync();

        ToolRun run = await server.RunAsync("ls", "--json");

        using var json = JsonDocument.Parse(run.Expect(ExitCode.Ok).Lines.Single());
        JsonElement one = json.RootElement.EnumerateArray().Single();
        Assert.That(one.GetProperty("address").GetString(), Is.EqualTo("shm://notes/one"));
        Assert.That(one.GetProperty("socket").GetString(), Is.EqualTo(server.SocketPath));
        Assert.That(one.GetProperty("isAlive").GetBoolean(), Is.True);
        Assert.That(one.GetProperty("processId").GetInt32(), Is.EqualTo(Environment.ProcessId));
        Assert.That(one.GetProperty("ageSeconds").GetInt64(), Is.InRange(0, 3600));
        Assert.That(one.GetProperty("connections").GetInt32(), Is.Zero);
    }

    // The file of such a server does not have its name: it is reached by the path.
    [Test]
    public async Task List_OfALongName_ShowsAnAddressThatWorks()
    {
        using var directory = new TestDirectory();
        var options = new ShmServerOptions();
        options.Listen.RuntimeDirectory = directory.Path;
        await using var server = new ShmServer("shm://" + new string('n', 150), options);
        await server.StartAsync();

        ToolRun list = await ToolRun.RunAsync(TextReader.Null, "ls", "--json", "--runtime-directory", directory.Path);
        using var json = JsonDocument.Parse(list.Expect(ExitCode.Ok).Out);
        string address = json.RootElement[0].GetProperty("address").GetString()!;
        ToolRun run = await ToolRun.RunAsync(TextReader.Null, "services", address);

        Assert.That(address, Does.StartWith($"shm://{directory.Path}/~"));
        run.Expect(ExitCode.NotOffered);
    }

    // Such a server has its lock file under the whole name, whatever that is.
    [TestCase("orders")]
    [TestCase("orders.sock")]
    public async Task List_OfAServerAtAPath_ShowsThePathAndItsProcess(string name)
    {
        using var directory = new TestDirectory();
        string path = directory.Combine(name);
        await using var server = new ShmServer("shm://" + path);
        await server.StartAsync();

        ToolRun list = await ToolRun.RunAsync(TextReader.Null, "ls", "--json", "--runtime-directory", directory.Path);

        using var json = JsonDocument.Parse(list.Expect(ExitCode.Ok).Out);
        JsonElement one = json.RootElement.EnumerateArray().Single();
        Assert.That(one.GetProperty("address").GetString(), Is.EqualTo("shm://" + path));
        Assert.That(one.GetProperty("processId").GetInt32(), Is.EqualTo(Environment.ProcessId));
        Assert.That(one.GetProperty("connections").GetInt32(), Is.Zero);
    }

    // The system's table has the path under which a socket was bound; a server of another network namespace is not in
    // it at all.
    [Test]
    public async Task List_OfASocketThatTheSystemDoesNotName_DoesNotGuessItsConnections()
    {
        using var directory = new TestDirectory();
        await using var server = new ShmServer("shm://" + directory.Combine("before.sock"));
        await server.StartAsync();
        File.Move(directory.Combine("before.sock"), directory.Combine("after.sock"));

        ToolRun list = await ToolRun.RunAsync(TextReader.Null, "ls", "--json", "--runtime-directory", directory.Path);

        using var json = JsonDocument.Parse(list.Expect(ExitCode.Ok).Out);
        JsonElement one = json.RootElement.EnumerateArray()
            .Single(found => found.GetProperty("address").GetString() == "shm://after");
        Assert.That(one.TryGetProperty("connections", out _), Is.False);
    }

    [Test]
    public async Task List_OfNoDirectory_IsEmpty()
    {
        using var directory = new TestDirectory();
        string missing = directory.Combine("missing");

        ToolRun run = await ToolRun.RunAsync(TextReader.Null, "ls", "--runtime-directory", missing);
        ToolRun json = await ToolRun.RunAsync(TextReader.Null, "ls", "--json", "--runtime-directory", missing);

        Assert.That(run.Expect(ExitCode.Ok).Error, Does.Contain($"No server runs in {missing}"));
        Assert.That(json.Expect(ExitCode.Ok).Out, Is.EqualTo("[]\n"));
    }

    [Test]
    public async Task List_OfARelativeDirectory_SaysWhatIsAllowed()
    {
        ToolRun run = await ToolRun.RunAsync(TextReader.Null, "ls", "--runtime-directory", "here");

        Assert.That(run.Expect(ExitCode.BadInput).Error, Does.Contain("The runtime directory is an absolute path"));
    }

    [Test]
    public async Task Clean_OfASocketWithoutItsLock_LeavesItAndSaysWhy()
    {
        await using TestServer server = await TestServer.StartAsync();
        DeadServer.Leave(Path.Combine(server.Directory, "odd.sock"));
        File.Delete(Path.Combine(server.Directory, "odd.lock"));

        ToolRun run = await server.RunAsync("clean");

        Assert.That(run.Expect(ExitCode.Ok).Error, Does.Contain("shm://odd stays: it is another user's"));
        Assert.That(File.Exists(Path.Combine(server.Directory, "odd.sock")), Is.True);
    }

    [Test]
    public async Task Clean_OfLivingAndDeadServers_RemovesWhatTheDeadHaveLeft()
    {
        await using TestServer server = await TestServer.StartAsync();
        for (int i = 0; i < 120; i++)
        {
            DeadServer.Leave(Path.Combine(server.Directory, $"gone-{i}.sock"));
        }

        ToolRun run = await server.RunAsync("clean");
        ToolRun again = await server.RunAsync("clean", "--json");

        Assert.That(run.Expect(ExitCode.Ok).Lines, Has.Length.EqualTo(120).And.Contains("removed shm://gone-7"));
        Assert.That(again.Expect(ExitCode.Ok).Out, Is.EqualTo("{\"removed\":[],\"left\":[]}\n"));
        Assert.That(
            Directory.GetFiles(server.Directory).Select(Path.GetFileName),
            Is.EquivalentTo(new[] { "notes+one.lock", "notes+one.sock" }));
    }

    [GeneratedRegex("\u001b\\[[0-9;]*m")]
    private static partial Regex AnsiCode();

    private static string[] Words(string line) => line.Split(' ', StringSplitOptions.RemoveEmptyEntries);

    private static async Task<ShmChannel> ConnectAsync(TestServer server)
    {
        var channel = ShmChannel.ForAddress("shm://" + server.SocketPath);
        await channel.ConnectAsync().Bounded();
        return channel;
    }
}
