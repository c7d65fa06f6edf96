using System.Diagnostics;

namespace RpcOverShm.Samples;

/// <summary>Starts this program again, under another account if this one is root.</summary>
internal static class AccountProcess
{
    private static readonly TimeSpan s_longest = TimeSpan.FromSeconds(30);

    /// <summary>Returns the number of this process's user.</summary>
    public static string OwnUser() => File.ReadLines("/proc/self/status")
        .First(line => line.StartsWith("Uid:", StringComparison.Ordinal)).Split('\t')[2];

    /// <summary>Starts a copy of this program from a directory.</summary>
    /// <param name="programs">The directory, which the account may read.</param>
    /// <param name="account">The number of the user and of its group; null for this user.</param>
    /// <param name="arguments">The arguments of the program.</param>
    public static Process Start(string programs, string? account, params string[] arguments)
    {
        string name = Path.GetFileNameWithoutExtension(Environment.ProcessPath!);
        string[] program = name == "dotnet"
            ? [Environment.ProcessPath!, Path.Combine(programs, "ServiceAccount.dll")]
            : [Path.Combine(programs, name)];
        string[] command = account is null
            ? [.. program, .. arguments]
            : ["setpriv", "--reuid", account, "--regid", account, "--clear-groups", .. program, .. arguments];
        var start = new ProcessStartInfo(command[0], command[1..])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        };
        return Process.Start(start) ?? throw new InvalidOperationException($"{command[0]} did not start.");
    }

    /// <summary>Runs a program to its end; returns its exit code.</summary>
    public static async Task<int> RunAsync(string program, params string[] arguments)
    {
        using Process process = Process.Start(program, arguments);
        return await EndAsync(process);
    }

    public static async Task<string?> ReadLineAsync(Process process) =>
        await process.StandardOutput.ReadLineAsync().WaitAsync(s_longest);

    /// <summary>Waits for the end of a process; returns its exit code.</summary>
    public static async Task<int> EndAsync(Process process)
    {
        await process.WaitForExitAsync().WaitAsync(s_longest);
        return process.ExitCode;
    }
}
