using System.Diagnostics;
using System.Globalization;

namespace RpcOverShm.Samples;

/// <summary>A second instance of this program, which serves until it is stopped.</summary>
internal sealed class WorkerProcess : IDisposable
{
    private readonly Process _process;

    private WorkerProcess(Process process) => _process = process;

    public static async Task<WorkerProcess> StartAsync(string address)
    {
        string[] arguments = ["serve", $"Greeter:Address={address}"];
        if (OperatingSystem.IsWindows())
        {
            arguments = [.. arguments, $"{GreeterWorker.StopWithInput}=true"];
        }

        var start = new ProcessStartInfo(Environment.ProcessPath!, arguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        };
        Process process = Process.Start(start) ?? throw new InvalidOperationException("The worker did not start.");
        string? line = await process.StandardOutput.ReadLineAsync();
        return line == GreeterWorker.ReadyLine
            ? new WorkerProcess(process)
            : throw new InvalidOperationException(
                $"The worker said '{line}' instead of '{GreeterWorker.ReadyLine}'.");
    }

    /// <summary>
    /// Stops the worker as systemd does, or on Windows, which has no signals, by the end of its input. Returns its exit
    /// code and its last line.
    /// </summary>
    public async Task<(int ExitCode, string Line)> StopAsync()
    {
        if (OperatingSystem.IsWindows())
        {
            _process.StandardInput.Close();
        }
        else
        {
            string id = _process.Id.ToString(CultureInfo.InvariantCulture);
            using Process kill = Process.Start("kill", ["-TERM", id]);
            await kill.WaitForExitAsync();
        }

        string line = (await _process.StandardOutput.ReadToEndAsync()).Trim();
        await _process.WaitForExitAsync();
        return (_process.ExitCode, line);
    }

    /// <summary>Kills the worker: kill -9, or TerminateProcess on Windows.</summary>
    public async Task KillAsync()
    {
        _process.Kill();
        await _process.WaitForExitAsync();
    }

    public void Dispose()
    {
        if (!_process.HasExited)
        {
            _process.Kill();
        }

        _process.Dispose();
    }
}
