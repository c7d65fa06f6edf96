using System.Diagnostics;
using RpcOverShm.Testing;
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

    // The built program, with pipes for its streams.
    [Test]
    public async Task Tool_AsAProcess_CallsAServerOfAnother()
    {
        await using TestServer server = await TestServer.StartAsync();
        string[] command = PeerProcess.CommandOf(
            AppContext.BaseDirectory,
            "rpcshm",
            "call", "shm://" + server.SocketPath, "Chat", "-");
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
}
