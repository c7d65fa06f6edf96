using System.Diagnostics;
using System.Globalization;

namespace RpcOverShm.Samples;

/// <summary>The server process: a second instance of this program; it stops when its input is closed.</summary>
internal sealed class ServerProcess : IAsyncDisposable
{
    private static readonly TimeSpan s_longestStart = TimeSpan.FromSeconds(30);

    private readonly Process _process;

    private ServerProcess(Process process) => _process = process;

    public Process Process => _process;

    /// <summary>Returns the command that runs this program.</summary>
    public static string[] ThisProgram()
    {
        string program = Environment.ProcessPath!;
        return Path.GetFileNameWithoutExtension(program) == "dotnet"
            ? [program, typeof(ServerProcess).Assembly.Location]
            : [program];
    }

    /// <summary>Starts a server with the command of a build of this program.</summary>
    public static async Task<ServerProcess> StartAsync(string[] command, string address)
    {
        var start = new ProcessStartInfo(command[0], [.. command[1..], "serve", address])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        };
        Process process = Process.Start(start) ?? throw new InvalidOperationException("The server did not start.");
        string? line = await process.StandardOutput.ReadLineAsync().WaitAsync(s_longestStart);
        return line == TickerServer.ReadyLine
            ? new ServerProcess(process)
            : throw new InvalidOperationException($"The server said '{line}' instead of '{TickerServer.ReadyLine}'.");
    }

    /// <summary>Returns the number of methods that the compiler has compiled in the server.</summary>
    public async Task<long> CountCompiledAsync()
    {
        await _process.StandardInput.WriteLineAsync();
        string? line = await _process.StandardOutput.ReadLineAsync().WaitAsync(s_longestStart);
        return long.Parse(line ?? "", CultureInfo.InvariantCulture);
    }

    /// <summary>Asks the server to stop and returns its exit code.</summary>
    public async Task<int> StopAsync()
    {
        _process.StandardInput.Close();
        await _process.WaitForExitAsync().WaitAsync(s_longestStart);
        return _process.ExitCode;
    }

    public async ValueTask DisposeAsync()
    {
        if (!_process.HasExited)
        {
            _process.Kill();
            await _process.WaitForExitAsync();
        }

        _process.Dispose();
    }
}
