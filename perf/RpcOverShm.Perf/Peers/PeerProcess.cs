using System.Runtime.InteropServices;
using System.Text;

namespace RpcOverShm.Perf.Peers;

/// <summary>
/// One measured process, as the suite sees it: a request line goes in, and a reply line comes out within a deadline.
/// Its stderr is kept for the message of a failure. One request at a time.
/// </summary>
internal sealed class PeerProcess : IAsyncDisposable
{
    private const string UsualProgram = "RpcOverShm.Perf.Peer";
    private const string ReadyToRunFolder = "ReadyToRun";
    private const int StderrKept = 4000;
    private static readonly TimeSpan s_startDeadline = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan s_exitDeadline = TimeSpan.FromSeconds(5);

    private readonly string _name;
    private readonly Process _process;
    private readonly StringBuilder _stderr = new();

    private PeerProcess(string name, Process process)
    {
        _name = name;
        _process = process;
        process.ErrorDataReceived += (_, line) => Keep(line.Data);
        process.BeginErrorReadLine();
    }

    /// <summary>Whether there is the usual program with the ReadyToRun code of our packages.</summary>
    public static bool HasReadyToRun => Directory.Exists(Path.Combine(ProgramFolder, ReadyToRunFolder));

    private static string ProgramFolder => Path.GetDirectoryName(typeof(PeerProcess).Assembly.Location)!;

    /// <summary>Starts a process and waits until it says that it is ready.</summary>
    /// <param name="name">The name in messages.</param>
    /// <param name="arm">The arm that it is an end of; null for one of the usual program and settings.</param>
    /// <param name="isReadyToRun">Whether our assemblies have the ReadyToRun code of our packages.</param>
    public static async Task<PeerProcess> StartAsync(string name, IArm? arm = null, bool isReadyToRun = false)
    {
        var peer = new PeerProcess(name, await PeerLauncher.StartAsync(StartInfo(arm, isReadyToRun)));
        string line = await peer.ReadLineAsync("start", s_startDeadline);
        return line == PeerVerbs.Ready ? peer : throw peer.Failed($"said '{line}' instead of '{PeerVerbs.Ready}'");
    }

    /// <summary>Starts the server of an arm. Returns it with the place where clients find it.</summary>
    public static async Task<(PeerProcess Server, string Place)> StartServerAsync(
        string arm, string place, TimeSpan deadline, bool isReadyToRun = false)
    {
        PeerProcess server = await StartAsync($"server of {arm}", ArmCatalog.Find(arm), isReadyToRun);
        try
        {
            LineWriter serve = new LineWriter(PeerVerbs.Serve).Add(arm).Add(place);
            return (server, (await server.AskAsync(serve, deadline)).NextText());
        }
        catch
        {
            await server.DisposeAsync();
            throw;
        }
    }

    /// <summary>Orders the process to do something, and returns its answer.</summary>
    /// <exception cref="PeerException">The process failed, or did not answer in time.</exception>
    public async Task<LineReader> AskAsync(LineWriter request, TimeSpan deadline)
    {
        string verb = new LineReader(request.ToString()).NextText();
        try
        {
            await _process.StandardInput.WriteLineAsync(request.ToString());
            await _process.StandardInput.FlushAsync();
        }
        catch (IOException)
        {
            throw Failed("does not listen any more");
        }

        var answer = new LineReader(await ReadLineAsync(verb, deadline));
        return answer.NextText() switch
        {
            PeerVerbs.Ok => answer,
            PeerVerbs.Error => throw Failed($"cannot {verb}: {answer.NextText()}"),
            string other => throw Failed($"said '{other}', which is no answer to '{verb}'"),
        };
    }

    /// <summary>Ends the process: in an orderly way if possible, else by force.</summary>
    public async ValueTask DisposeAsync()
    {
        try
        {
            _process.StandardInput.Close();
            using var deadline = new CancellationTokenSource(s_exitDeadline);
            await _process.WaitForExitAsync(deadline.Token);
        }
        catch (Exception exception) when (exception is OperationCanceledException or IOException)
        {
            _process.Kill();
        }

        _process.Dispose();
    }

    private static ProcessStartInfo StartInfo(IArm? arm, bool isReadyToRun)
    {
        string program = arm?.Program ?? "";
        string directory = isReadyToRun ? Path.Combine(ProgramFolder, ReadyToRunFolder) : ProgramFolder;
        string file = (program.Length == 0 ? UsualProgram : program) + (OperatingSystem.IsWindows() ? ".exe" : "");
        var info = new ProcessStartInfo(Path.Combine(directory, program, file))
        {
            ArgumentList = { Environment.ProcessId.ToString(CultureInfo.InvariantCulture) },
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };

        // The program must find the runtime of this process: its root is three folders above.
        string runtime = Path.TrimEndingDirectorySeparator(RuntimeEnvironment.GetRuntimeDirectory());
        info.Environment["DOTNET_ROOT"] = Path.GetFullPath(Path.Combine(runtime, "..", "..", ".."));
        if (arm is { LargeObjectsFrom: > 0 })
        {
            info.Environment["DOTNET_GCLOHThreshold"] =
                arm.LargeObjectsFrom.ToString("X", CultureInfo.InvariantCulture);
        }

        return info;
    }

    private async Task<string> ReadLineAsync(string verb, TimeSpan deadline)
    {
        using var timeout = new CancellationTokenSource(deadline);
        try
        {
            return await _process.StandardOutput.ReadLineAsync(timeout.Token) ?? throw Failed($"ended in '{verb}'");
        }
        catch (OperationCanceledException)
        {
            throw Failed($"did not answer '{verb}' within {deadline.TotalSeconds:0.#} s");
        }
    }

    private PeerException Failed(string what)
    {
        lock (_stderr)
        {
            return new PeerException($"The {_name} {what}. {(_stderr.Length == 0 ? "" : $"It wrote:\n{_stderr}")}");
        }
    }

    private void Keep(string? line)
    {
        lock (_stderr)
        {
            if (line is not null && _stderr.Length < StderrKept)
            {
                _stderr.AppendLine(line);
            }
        }
    }
}
