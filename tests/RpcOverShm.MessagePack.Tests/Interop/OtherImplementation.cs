using System.Diagnostics;
using RpcOverShm.Testing;

namespace RpcOverShm.MessagePack.Tests.Interop;

/// <summary>
/// A child process that reads and writes MessagePack with a library of another language. It ends when its standard
/// input does, so with this process at the latest.
/// </summary>
internal sealed class OtherImplementation : IDisposable
{
    /// <summary>"1" makes a missing tool a failure; otherwise the tests that need it are skipped.</summary>
    private const string RequireVariable = "RPCOVERSHM_REQUIRE_INTEROP";

    private readonly Process _process;

    private OtherImplementation(Process process) => _process = process;

    /// <summary>python3-msgpack, which Debian installs for Debian's Python.</summary>
    public static Task<OtherImplementation> StartPythonAsync() =>
        StartAsync("python3-msgpack", "msgpack_echo.py", "/usr/bin/python3", "python3");

    /// <summary>@msgpack/msgpack, found by NODE_PATH.</summary>
    public static Task<OtherImplementation> StartNodeAsync() =>
        StartAsync("@msgpack/msgpack", "msgpack_echo.js", "node");

    /// <summary>What the library makes of the bytes.</summary>
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
