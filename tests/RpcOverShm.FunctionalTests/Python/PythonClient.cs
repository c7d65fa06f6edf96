using System.ComponentModel;

namespace RpcOverShm.FunctionalTests.Python;

/// <summary>The process of shm_calls.py, which makes the calls that the test asks for.</summary>
internal sealed class PythonClient : IAsyncDisposable
{
    /// <summary>If "1", a missing Python fails the tests; otherwise they are skipped.</summary>
    private const string RequireVariable = "RPCOVERSHM_REQUIRE_INTEROP";

    private readonly PeerProcess _process;

    private PythonClient(PeerProcess process) => _process = process;

    public static async Task<PythonClient> StartAsync()
    {
        string reason = "";
        foreach (string program in new[] { "/usr/bin/python3", "python3" })
        {
            try
            {
                string script = Path.Combine(AppContext.BaseDirectory, "Python", "shm_calls.py");
                return new PythonClient(await PeerProcess.StartProgramAsync(program, "-B", "-X", "utf8", script));
            }
            catch (Win32Exception exception)
            {
                reason = exception.Message;
            }
        }

        if (Environment.GetEnvironmentVariable(RequireVariable) == "1")
        {
            Assert.Fail($"There is no Python: {reason}");
        }

        Assert.Ignore($"There is no Python: {reason}");
        throw new InvalidOperationException(reason);
    }

    /// <summary>Sends a command, which must succeed, and returns the facts of its answer.</summary>
    public Task<string> DoAsync(string command) => _process.DoAsync(command);

    /// <summary>Sends a command and returns its answer, "ok …" or "error …".</summary>
    public Task<string> AskAsync(string command) => _process.AskAsync(command);

    /// <summary>Closes all connections. Fails if a command has not been answered.</summary>
    public Task ResetAsync() => _process.ResetAsync();

    public ValueTask DisposeAsync() => _process.DisposeAsync();
}
