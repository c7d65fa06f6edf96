using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using System.Threading.Channels;

namespace RpcOverShm.Testing;

/// <summary>
/// A second process of a test, controlled by a line protocol over its standard streams. Each command gets one reply;
/// lines that start with "event " are unsolicited. The process dies with this one: its standard input ends, and the
/// kernel kills it when the thread that started it ends. Therefore one thread starts all peers and never exits.
/// </summary>
public sealed class PeerProcess : IAsyncDisposable
{
    /// <summary>
    /// The variable with the id of the parent process. A peer whose parent has another id has lost its parent already.
    /// </summary>
    public const string ParentVariable = "RPCOVERSHM_PARENT";

    private const string EventPrefix = "event ";

    private static readonly BlockingCollection<Action> s_starts = [];
    private static readonly Thread s_starter = StartStarter();

    private readonly Process _process;
    private readonly Channel<string> _replies = Channel.CreateUnbounded<string>();
    private readonly Channel<string> _events = Channel.CreateUnbounded<string>();
    private readonly ConcurrentQueue<string> _errors = new();
    private readonly SemaphoreSlim _asking = new(1);
    private bool _isDisposed;

    private PeerProcess(Process process)
    {
        _process = process;
        Exited = process.WaitForExitAsync();
        _ = ReadAsync(process.StandardOutput, OnLine);
        _ = ReadAsync(process.StandardError, _errors.Enqueue);
    }

    public int Id => _process.Id;

    /// <summary>Completes when the process has exited for any reason.</summary>
    public Task Exited { get; }

    public bool HasExited => _process.HasExited;

    /// <summary>The exit code; 137 (128 + 9) if the process was killed.</summary>
    public int ExitCode => _process.ExitCode;

    /// <summary>The lines that the process wrote to its error stream.</summary>
    public string Errors => string.Join(Environment.NewLine, _errors);

    /// <summary>Starts a program of this solution from the directory of the tests.</summary>
    public static async Task<PeerProcess> StartAsync(string assemblyName, params string[] arguments)
    {
        string program = Path.Combine(AppContext.BaseDirectory, assemblyName + ".dll");
        string host = Environment.ProcessPath is { } path && Path.GetFileNameWithoutExtension(path) == "dotnet"
            ? path
            : Environment.GetEnvironmentVariable("DOTNET_HOST_PATH") ?? "dotnet";
        var start = new ProcessStartInfo(host, ["exec", program, .. arguments])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            UseShellExecute = false,
        };

        // One of many peers: processor time for tiered PGO would not pay.
        start.Environment["DOTNET_TieredPGO"] = "0";
        start.Environment[ParentVariable] = Environment.ProcessId.ToString(CultureInfo.InvariantCulture);
        var started = new TaskCompletionSource<Process>(TaskCreationOptions.RunContinuationsAsynchronously);
        Debug.Assert(s_starter.IsAlive, "The thread that started the peers outlives them.");
        s_starts.Add(() => Start(start, started));
        return new PeerProcess(await started.Task);
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
        _process.Dispose();
        _asking.Dispose();
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
            while (await reader.ReadLineAsync() is { } line)
            {
                onLine(line);
            }
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException)
        {
            // The process has ended.
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
