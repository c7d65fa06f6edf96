using System.Diagnostics;
using RpcOverShm.Testing;

namespace RpcOverShm.MessagePack.Tests.Interop;

/// <summary>
/// A child process that reads and writes MessagePack with a library of another language. It exits when its standard
/// input ends, so no later than this process.
/// </summary>
internal sealed class OtherImplementation : IDisposable
{
    /// <summary>If "1", a missing tool fails the tests that need it; otherwise they are skipped.</summary>
    private const string RequireVariable = "RPCOVERSHM_REQUIRE_INTEROP";

    private readonly Process _process;

    private OtherImplementation(Process process) => _process = process;

    /// <summary>Starts Python with python3-msgpack, which Debian installs for its own Python.</summary>
    public static Task<OtherImplementation> StartPythonAsync() =>
        StartAsync("python3-msgpack", "msgpack_echo.py", "/usr/bin/python3", "python3");

    /// <summary>Starts Node with @msgpack/msgpack, found through NODE_PATH.</summary>
    public static Task<OtherImplementation> StartNodeAsync() =>
        StartAsync("@msgpack/msgpack", "msgpack_echo.js", "node");

    /// <summary>
    /// Returns the library's description of the bytes, and the bytes that it writes for the same message.
    /// </summary>
    public async Task<(string Description, byte[] Rewritten)> EchoAsync(byte[] bytes)
    {
        await _process.StandardInput.WriteLineAsync(Codec.Hex(bytes)).Bounded();
        await _process.StandardInput.FlushAsync().Bounded();
        string? answer = await _process.StandardOutput.ReadLineAsync().Bounded();
        Assert.That(answer, Is.Not.Null.And.Not.StartsWith("error"), Codec.Hex(bytes));
        string[] parts = answer!.Split(' ');
        return (parts[0], Convert.FromHexString(parts[1]));
    }

    public void Dispose()
    {
        if (!_process.HasExited)
        {
            _process.Kill();
        }

        _process.Dispose();
    }

    private static async Task<OtherImplementation> StartAsync(string library, string script, params string[] programs)
    {
        var reasons = new List<string>();
        foreach (string program in programs)
        {
            if (TryStart(program, script, reasons) is not { } process)
            {
                continue;
            }

            string? first = await process.StandardOutput.ReadLineAsync().Bounded();
            if (first?.StartsWith("ready", StringComparison.Ordinal) == true)
            {
                TestContext.Out.WriteLine($"{library} by {program}: {first}");
                return new OtherImplementation(process);
            }

            reasons.Add($"{program}: {(await process.StandardError.ReadToEndAsync().Bounded()).Trim()}");
            process.Dispose();
        }

        string reason = $"There is no {library}. {string.Join(" ", reasons)}";
        if (Environment.GetEnvironmentVariable(RequireVariable) == "1")
        {
            Assert.Fail(reason);
        }

        Assert.Ignore(reason);
        throw new InvalidOperationException(reason);
    }

    private static Process? TryStart(string program, string script, List<string> reasons)
    {
        var start = new ProcessStartInfo(program, [Path.Combine(AppContext.BaseDirectory, "Interop", script)])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            UseShellExecute = false,
        };
        try
        {
            return Process.Start(start);
        }
        catch (System.ComponentModel.Win32Exception exception)
        {
            reasons.Add(exception.Message);
            return null;
        }
    }
}
