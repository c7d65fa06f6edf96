using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using System.Threading.Channels;

namespace RpcOverShm.Testing;

/// <summary>
/// A second process of a test, controlled by a line protocol over its standard streams. Each command gets one reply;
/// lines that start with "event " are unsolicited. The process dies with this one: its standard input ends, and Linux
/// kills it when the thread that started it ends. Therefore one thread starts all peers and never exits.
/// </summary>
public sealed class PeerProcess : IAsyncDisposable
{
    /// <summary>
    /// The variable with the id of the parent process. A peer whose parent has another id has lost its parent already.
    /// </summary>
    public const string ParentVariable = "RPCOVERSHM_PARENT";

    /// <summary>
    /// The variable with the command that runs the peer of the tests in place of the one beside them, as words between
    /// blanks: a build for another processor and its emulator.
    /// </summary>
    private const string CommandVariable = "RPCOVERSHM_TEST_PEER";

    private const string PeerAssembly = "RpcOverShm.TestPeer";
    private const string EventPrefix = "event ";
    private const UnixFileMode Readable = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute
        | UnixFileMode.GroupRead | UnixFileMode.GroupExecute | UnixFileMode.OtherRead | UnixFileMode.OtherExecute;

    private static readonly BlockingCollection<Action> s_starts = [];
    private static readonly Thread s_starter = StartStarter();

    // TerminateProcess is told a code; .NET tells it this one. Linux has 128 + 9 for the signal.
    private static readonly int s_codeOfKilled = OperatingSystem.IsWindows() ? -1 : 128 + 9;

    private readonly Process _process;
    private readonly Channel<string> _replies = Channel.CreateUnbounded<string>();
    private readonly Channel<string> _events = Channel.CreateUnbounded<string>();
    private readonly ConcurrentQueue<string> _errors = new();
    private readonly SemaphoreSlim _asking = new(1);
    private bool _isDisposed;

    private PeerProcess(Process process)
    {
        _process = process;
        Id = process.Id;
        Exited = process.WaitForExitAsync();
        _ = ReadAsync(process.StandardOutput, OnLine);
        _ = ReadAsync(process.StandardError, _errors.Enqueue);
    }

    /// <summary>The id of the process, also after its end.</summary>
    public int Id { get; }

    /// <summary>Completes when the process has exited for any reason.</summary>
    public Task Exited { get; }

    public bool HasExited => _process.HasExited;

    public int ExitCode => _process.ExitCode;

    /// <summary>Whether the process was killed, by itself or by another one.</summary>
    public bool WasKilled => ExitCode == s_codeOfKilled;

    /// <summary>The lines that the process wrote to its error stream.</summary>
    public string Errors => string.Join(Environment.NewLine, _errors);

    /// <summary>Starts a program of this solution from the directory of the tests.</summary>
    public static Task<PeerProcess> StartAsync(string assemblyName, params string[] arguments) =>
        StartAsync(user: null, AppContext.BaseDirectory, assemblyName, arguments);

    /// <summary>Copies the programs of this solution to a directory from which every user can run them.</summary>
    public static void CopyProgramsTo(TestDirectory directory)
    {
        if (OperatingSystem.IsWindows())
        {
            throw new PlatformNotSupportedException();
        }

        foreach (string file in Directory.EnumerateFiles(AppContext.BaseDirectory))
        {
            if (Path.GetExtension(file) is ".dll" or ".json")
            {
                string copy = directory.Combine(Path.GetFileName(file));
                File.Copy(file, copy);
                File.SetUnixFileMode(copy, Readable);
            }
        }

        File.SetUnixFileMode(directory.Path, Readable);
    }

    /// <summary>Starts a program from another directory, as another user unless that is null.</summary>
    public static async Task<PeerProcess> StartAsync(
        PeerUser? user, string directory, string assemblyName, params string[] arguments)
    {
        string[] command = CommandOf(directory, assemblyName, arguments);
        command = user?.Wrap(command) ?? command;
        return await StartProgramAsync(command[0], command[1..]);
    }

    /// <summary>Starts a program from the directory of the tests, with these variables in its environment.</summary>
    public static async Task<PeerProcess> StartWithAsync(
        IEnumerable<KeyValuePair<string, string>> variables, string assemblyName, params string[] arguments)
    {
        string[] command = CommandOf(AppContext.BaseDirectory, assemblyName, arguments);
        return await StartProgramAsync(command, variables);
    }

    /// <summary>Starts a program of any kind that speaks the line protocol.</summary>
    /// <exception cref="System.ComponentModel.Win32Exception">There is no such program.</exception>
    public static Task<PeerProcess> StartProgramAsync(string program, params string[] arguments) =>
        StartProgramAsync([program, .. arguments], []);

    /// <summary>
    /// Returns the command that runs a program of this solution, or the peer that takes its place.
    /// </summary>
    public static string[] CommandOf(string directory, string assemblyName, params string[] arguments)
    {
        if (assemblyName == PeerAssembly
            && Environment.GetEnvironmentVariable(CommandVariable) is { Length: > 0 } other)
        {
            return [.. other.Split(' '), .. arguments];
        }

        // Published for Windows, it needs no host of .NET.
        string program = Path.Combine(directory, assemblyName + ".exe");
        if (OperatingSystem.IsWindows() && File.Exists(program))
        {
            return [program, .. arguments];
        }

        program = Path.Combine(directory, assemblyName + ".dll");
        string host = Environment.ProcessPath is { } path && Path.GetFileNameWithoutExtension(path) == "dotnet"
            ? path
            : Environment.GetEnvironmentVariable("DOTNET_HOST_PATH") ?? "dotnet";
        return [host, "exec", program, .. arguments];
    }

    /// <summary>Sends a command and returns its reply.</summary>
    public async Task<string> AskAsync(string command)
    {
        await _asking.WaitAsync();
        try
        {
            await SendAsync(command);
            return await ReadOneAsync(_replies, command);
        }
        finally
        {
            _asking.Release();
        }
    }

    /// <summary>Sends a command whose reply must be "ok"; returns the rest of the reply.</summary>
    public async Task<string> DoAsync(string command)
    {
        string reply = await AskAsync(command);
        return reply.Split(' ')[0] == "ok"
            ? reply.Length > 3 ? reply[3..] : ""
            : throw new InvalidOperationException($"The peer answered '{command}' with '{reply}'. {Errors}");
    }

    /// <summary>
    /// Sends a command without waiting for its reply. There is no reply if the command kills the peer.
    /// </summary>
    public async Task SendAsync(string command)
    {
        await _process.StandardInput.WriteLineAsync(command);
        await _process.StandardInput.FlushAsync();
    }

    /// <summary>
    /// Ends all that the commands have begun, so that the peer is as it was started, but for what its runtime has
    /// compiled. Fails if a command has not been answered.
    /// </summary>
    public async Task ResetAsync()
    {
        string reply = await DoAsync("reset");
        if (reply != "done")
        {
            throw new InvalidOperationException($"'{reply}' is the reply to an earlier command.");
        }

        while (_events.Reader.TryRead(out _))
        {
            // Nobody waits for an event of what has ended.
        }
    }

    /// <summary>Ends the input, so that the peer exits; <see cref="Exited"/> completes when it is gone.</summary>
    public void EndInput() => _process.StandardInput.Close();

    /// <summary>Returns the text of the next event, without the prefix.</summary>
    public async Task<string> NextEventAsync() => (await ReadOneAsync(_events, "an event"))[EventPrefix.Length..];

    /// <summary>Sends SIGKILL and returns at once; <see cref="Exited"/> completes when the process is gone.</summary>
    public void Kill() => _process.Kill();

    public async ValueTask DisposeAsync()
    {
        if (_isDisposed)
        {
            return;
        }

        _isDisposed = true;
        if (!_process.HasExited)
        {
            _process.Kill();
        }

        await Exited.Bounded();
        CloseInput();
        _process.Dispose();
        _asking.Dispose();
    }

    private static async Task<PeerProcess> StartProgramAsync(
        string[] command, IEnumerable<KeyValuePair<string, string>> variables)
    {
        var start = new ProcessStartInfo(command[0], command[1..])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            UseShellExecute = false,
        };

        // One of many peers: processor time for tiered PGO would not pay.
        start.Environment["DOTNET_TieredPGO"] = "0";
        start.Environment[ParentVariable] = Environment.ProcessId.ToString(CultureInfo.InvariantCulture);
        foreach ((string name, string value) in variables)
        {
            start.Environment[name] = value;
        }

        var started = new TaskCompletionSource<Process>(TaskCreationOptions.RunContinuationsAsynchronously);
        Debug.Assert(s_starter.IsAlive, "The thread that started the peers outlives them.");
        s_starts.Add(() => Start(start, started));
        return new PeerProcess(await started.Task);
    }

    private static Thread StartStarter()
    {
        var thread = new Thread(() =>
        {
            foreach (Action start in s_starts.GetConsumingEnumerable())
            {
                start();
            }
        })
        {
            IsBackground = true,
            Name = "Peer starter",
        };
        thread.Start();
        return thread;
    }

    private static void Start(ProcessStartInfo start, TaskCompletionSource<Process> started)
    {
        try
        {
            started.SetResult(Process.Start(start)!);
        }
        catch (Exception exception)
        {
            started.SetException(exception);
        }
    }

    private static async Task ReadAsync(StreamReader reader, Action<string> onLine)
    {
        try
        {
            using (reader)
            {
                while (await reader.ReadLineAsync() is { } line)
                {
                    onLine(line);
                }
            }
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException)
        {
            // The process has ended.
        }
    }

    // The pipe stays open when the process has ended.
    private void CloseInput()
    {
        try
        {
            _process.StandardInput.Close();
        }
        catch (IOException)
        {
            // A command that nobody has read is lost.
        }
    }

    private async Task<string> ReadOneAsync(Channel<string> from, string what)
    {
        Task<string> read = from.Reader.ReadAsync().AsTask();
        await Task.WhenAny(read, Exited).Bounded($"the peer's answer to '{what}'; its error stream: {Errors}");

        // The last lines before the exit may still be in the pipe.
        if (!read.IsCompleted && await Task.WhenAny(read, Task.Delay(TimeSpan.FromSeconds(1))) != read)
        {
            throw new InvalidOperationException($"The peer ended before it answered '{what}'. {Errors}");
        }

        return await read;
    }

    private void OnLine(string line)
    {
        Channel<string> to = line.StartsWith(EventPrefix, StringComparison.Ordinal) ? _events : _replies;
        to.Writer.TryWrite(line);
    }
}
