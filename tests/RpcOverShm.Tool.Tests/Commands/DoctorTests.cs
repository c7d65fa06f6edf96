using System.Text.Json;
using System.Text.RegularExpressions;
using RpcOverShm.Testing;
using RpcOverShm.Tool.Commands;
using RpcOverShm.Tool.Doctor;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Tests.Support;

namespace RpcOverShm.Tool.Tests.Commands;

/// <summary>The examination of the machine, on good and bad runtime directories and kernels.</summary>
public partial class DoctorTests
{
    private readonly TestDirectory _directory = new();

    [TearDown]
    public void RemoveDirectory() => _directory.Dispose();

    [Test]
    public async Task Doctor_OfAGoodDirectory_FindsNothingThatStopsServers()
    {
        ToolRun run = await RunAsync(_directory.Path);

        Assert.That(run.Expect(ExitCode.Ok).Out, Does.Contain("A server and a channel of this process have talked."));
        Assert.That(run.Out, Does.Contain($"{_directory.Path} belongs to user").And.Contains("RLIMIT_NOFILE is"));
        Assert.That(run.Out, Does.Contain("None runs in"));
    }

    [Test]
    public async Task Doctor_OfAMissingDirectory_SaysThatTheFirstServerMakesIt()
    {
        ToolRun run = await RunAsync(_directory.Combine("missing"));

        Assert.That(run.Expect(ExitCode.Ok).Out, Does.Contain("does not exist yet"));
        Assert.That(Directory.Exists(_directory.Combine("missing")), Is.False);
    }

    [Test]
    public async Task Doctor_OfADirectoryThatOthersMayWrite_IsAProblemWithItsAdvice()
    {
        SetMode(0x1FF);

        ToolRun run = await RunAsync(_directory.Path, "--json");

        using var json = JsonDocument.Parse(run.Expect(ExitCode.CallFailed).Lines.Single());
        JsonElement problem = json.RootElement.EnumerateArray()
            .Single(one => one.GetProperty("severity").GetString() == "problem");
        Assert.That(problem.GetProperty("subject").GetString(), Is.EqualTo("runtime directory"));
        Assert.That(problem.GetProperty("text").GetString(), Does.Contain("mode 0777"));
        Assert.That(problem.GetProperty("advice").GetString(), Is.EqualTo($"chmod 0700 {_directory.Path}"));
    }

    [Test]
    public async Task Doctor_OfADirectoryForOthers_SaysForWhichServersItIs()
    {
        SetMode(0x1C9);

        ToolRun run = await RunAsync(_directory.Path);

        Assert.That(run.Expect(ExitCode.Ok).Out, Does.Contain("servers that set AllowedUsers or AllowedGroup"));
    }

    [Test]
    public async Task Doctor_OfATooLongPath_IsAProblem()
    {
        string deep = _directory.Combine(new string('d', 90));
        Directory.CreateDirectory(deep);

        ToolRun run = await RunAsync(deep);

        Assert.That(run.Expect(ExitCode.CallFailed).Out, Does.Contain("is too long"));
    }

    [Test]
    public async Task Doctor_OfLivingAndDeadServers_CountsThem()
    {
        await using TestServer server = await TestServer.StartAsync();
        DeadServer.Leave(Path.Combine(server.Directory, "gone.sock"));

        ToolRun run = await RunAsync(server.Directory);

        Assert.That(run.Expect(ExitCode.Ok).Out, Does.Contain("A dead server has left files"));
        Assert.That(run.Out, Does.Contain("rpcshm clean removes them").And.Contains("One runs in"));
    }

    [Test]
    public async Task Doctor_OnATerminalOf40Columns_FitsIt()
    {
        var output = new StringWriter { NewLine = "\n" };
        var console = new ToolConsole(TextReader.Null, output, TextWriter.Null, width: 40, isColoured: true);

        int code = await CommandLine.RunAsync(["doctor", "--runtime-directory", _directory.Path], console).Bounded();

        Assert.That(code, Is.Zero);
        Assert.That(
            AnsiCode().Replace(output.ToString(), "").Split('\n').Select(line => line.Length), Has.All.AtMost(40));
    }

    [TestCase("5.15.167.4-microsoft-standard-WSL2", "65530", "         0          0 4294967295", "WSL", true)]
    [TestCase("6.8.0", "65530", "         0          0 4294967295", "WSL", false)]
    [TestCase("6.8.0", "400", "         0          0 4294967295", "limits", true)]
    [TestCase("6.8.0", "65530", "         0       1000          1", "users", true)]
    [TestCase("6.8.0", "65530", "         0          0 4294967295", "users", false)]
    public async Task SystemChecks_OfOtherSystems_FindWhatIsOdd(
        string release, string mappings, string users, string subject, bool isFound)
    {
        Write("proc/sys/kernel/osrelease", release);
        Write("proc/sys/vm/max_map_count", mappings);
        Write("proc/self/uid_map", users);

        IReadOnlyList<Finding> findings = await new SystemChecks(_directory.Path).RunAsync().Bounded();

        Assert.That(
            findings.Any(one => one.Subject == subject && one.Severity > Severity.Ok && one.Advice is not null),
            Is.EqualTo(isFound));
    }

    [Test]
    public async Task SystemChecks_InAContainer_SayHowToReachOthers()
    {
        Write(".dockerenv", "");

        IReadOnlyList<Finding> findings = await new SystemChecks(_directory.Path).RunAsync().Bounded();

        Assert.That(findings.Single(one => one.Subject == "container").Advice, Does.Contain("volume"));
    }

    [GeneratedRegex("\u001b\\[[0-9;]*m")]
    private static partial Regex AnsiCode();

    private static Task<ToolRun> RunAsync(string directory, params string[] arguments) =>
        ToolRun.RunAsync(TextReader.Null, ["doctor", .. arguments, "--runtime-directory", directory]);

    private void SetMode(int mode)
    {
        if (OperatingSystem.IsWindows())
        {
            throw new PlatformNotSupportedException();
        }

        File.SetUnixFileMode(_directory.Path, (UnixFileMode)mode);
    }

    private void Write(string file, string text)
    {
        string path = _directory.Combine(file);
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        File.WriteAllText(path, text + "\n");
    }
}
