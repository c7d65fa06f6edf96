using System.Diagnostics;
using RpcOverShm.Testing;
using RpcOverShm.Tool.Commands;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Tests.Support;

namespace RpcOverShm.Tool.Tests.Commands;

/// <summary>The command line itself: help, mistakes, completion, and the tool as a process.</summary>
public class CommandLineTests
{
    [TestCase("--help", "call")]
    [TestCase("call --help", "--deadline")]
    [TestCase("ls --help", "--runtime-directory")]
    public async Task Help_OfACommand_IsWritten(string arguments, string text)
    {
        ToolRun run = await ToolRun.RunAsync(TextReader.Null, arguments.Split(' '));

        Assert.That(run.Expect(ExitCode.Ok).Out, Does.Contain(text));
    }

    [TestCase("")]
    [TestCase("lst")]
    [TestCase("call")]
    [TestCase("services a b c d")]
    public async Task CommandLine_ThatIsWrong_IsBadInput(string arguments)
    {
        ToolRun run = await ToolRun.RunAsync(
            TextReader.Null, arguments.Split(' ', StringSplitOptions.RemoveEmptyEntries));

        Assert.That(run.Expect(ExitCode.BadInput).Error, Is.Not.Empty);
    }

    [Test]
    public async Task Completion_OfAnAddress_OffersTheLivingServers()
    {
        await using TestServer server = await TestServer.StartAsync();
        DeadServer.Leave(Path.Combine(server.Directory, "gone.sock"));
        string line = $"--runtime-directory {server.Directory} services ";

        ToolRun run = await ToolRun.RunAsync(
            TextReader.Null, $"[suggest:{line.Length}]", line);

        Assert.That(run.Expect(ExitCode.Ok).Lines, Does.Contain("shm://notes/one").And.Not.Contains("shm://gone"));
    }

    // What comes is without an end: the tool ends because nobody reads, and says nothing.
    [TestCase("call {0} List {{\"count\":1000000}}")]
    [TestCase("--help")]
    public async Task Tool_WhoseReaderLeaves_EndsQuietly(string arguments)
    {
        await using TestServer server = await TestServer.StartAsync();
        string[] words = [.. arguments.Split(' ').Select(word => string.Format(null, word, server.SocketPath))];
        string[] command = ToolProcess.CommandOf(words);
        using var shell = Process.Start(new ProcessStartInfo(
            "bash", ["-c", "\"$@\" | head -n 1 >&2; echo ${PIPESTATUS[0]}", "-", .. command])
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        })!;

        string code = await shell.StandardOutput.ReadToEndAsync().Bounded();
        string[] lines = (await shell.StandardError.ReadToEndAsync().Bounded()).TrimEnd('\n').Split('\n');

        // A short output may be written before its reader leaves.
        Assert.That(code, Is.EqualTo("141\n").Or.EqualTo(words.Length == 1 ? "0\n" : ""));
        Assert.That(lines, Has.Length.EqualTo(1), "the first line, and no complaint");
    }

    // The commands of a shell share one open file.
    [Test]
    public async Task Tool_IntoAFile_WritesBehindWhatIsThere()
    {
        using var directory = new TestDirectory();
        string file = directory.Combine("out");
        string[] script = ["-c", "{ \"$@\"; \"$@\"; } > \"$0\"", file, .. ToolProcess.CommandOf("--version")];

        using var shell = Process.Start(new ProcessStartInfo("bash", script))!;
        await shell.WaitForExitAsync().Bounded();

        string[] lines = await File.ReadAllLinesAsync(file);
        Assert.That(lines, Has.Length.EqualTo(2));
        Assert.That(lines[0], Is.Not.Empty.And.EqualTo(lines[1]));
    }

    [TestCase("services {0}")]
    [TestCase("describe {0}")]
    [TestCase("describe {0} Note")]
    [TestCase("call {0} Add")]
    [TestCase("call {0} Adz")]
    [TestCase("health {0}")]
    [TestCase("clean")]
    [TestCase("ls --help")]
    public async Task Command_OnATerminalOf40Columns_LosesNothing(string arguments)
    {
        await using TestServer server = await TestServer.StartAsync();
        string[] words =
        [
            .. arguments.Split(' ').Select(word => string.Format(null, word, server.SocketPath)),
            "--runtime-directory", server.Directory,
        ];
        (string narrow, int narrowCode) = await WriteAsync(words, width: 40);
        (string wide, int wideCode) = await WriteAsync(words, width: 8000);

        Assert.That(narrowCode, Is.EqualTo(wideCode));
        Assert.That(narrow.Where(letter => !char.IsWhiteSpace(letter)).Order(),
            Is.EqualTo(wide.Where(letter => !char.IsWhiteSpace(letter)).Order()));
    }

    // The built program, with pipes for its streams.
    [Test]
    public async Task Tool_AsAProcess_CallsAServerOfAnother()
    {
        await using TestServer server = await TestServer.StartAsync();
        string[] command = ToolProcess.CommandOf("call", "shm://" + server.SocketPath, "Chat", "-");
        using var tool = Process.Start(new ProcessStartInfo(command[0], command[1..])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        })!;

        await tool.StandardInput.WriteLineAsync("""{"text":"é"}""");
        await tool.StandardInput.FlushAsync();
        string? first = await tool.StandardOutput.ReadLineAsync().Bounded();
        await tool.StandardInput.WriteLineAsync("""{"text":"b"}""");
        tool.StandardInput.Close();
        string rest = await tool.StandardOutput.ReadToEndAsync().Bounded();
        await tool.WaitForExitAsync().Bounded();

        Assert.That(first, Is.EqualTo("""{"text":"É"}"""));
        Assert.That(rest.Trim(), Is.EqualTo("""{"text":"B"}"""));
        Assert.That(await tool.StandardError.ReadToEndAsync(), Is.Empty);
        Assert.That(tool.ExitCode, Is.Zero);
    }

    private static async Task<(string Text, int Code)> WriteAsync(string[] arguments, int width)
    {
        var output = new StringWriter { NewLine = "\n" };
        var error = new StringWriter { NewLine = "\n" };
        int code = await CommandLine.RunAsync(
            arguments, new ToolConsole(TextReader.Null, output, error, width)).Bounded();
        return (output.ToString() + error.ToString(), code);
    }
}
