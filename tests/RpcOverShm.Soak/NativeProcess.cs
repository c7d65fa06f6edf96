using System.ComponentModel;
using System.Runtime.InteropServices;

namespace RpcOverShm.Soak;

/// <summary>Signals, limits and priorities of another process.</summary>
internal static partial class NativeProcess
{
    public const int LimitDescriptors = 7;
    public const int LimitAddressSpace = 9;
    public const int SignalContinue = 18;
    public const int SignalStop = 19;
    public const int NoSuchProcess = 3; // ESRCH

    private const int ByProcess = 0;

    public static void Signal(int processId, int signal)
    {
        if (Kill(processId, signal) != 0)
        {
            throw new Win32Exception(Marshal.GetLastPInvokeError(), $"Signal {signal} to process {processId}.");
        }
    }

    /// <summary>Lowers a limit of a process; returns the limit that it had.</summary>
    public static Limit LowerLimit(int processId, int resource, ulong current)
    {
        ProcessLimit(processId, resource, 0, out Limit before);
        var lowered = before with { Current = Math.Min(current, before.Maximum) };
        SetLimit(processId, resource, lowered);
        return before;
    }

    public static void SetLimit(int processId, int resource, Limit limit)
    {
        if (ProcessLimit(processId, resource, in limit, out _) != 0)
        {
            throw new Win32Exception(Marshal.GetLastPInvokeError(), $"Limit {resource} of process {processId}.");
        }
    }

    /// <summary>Sets the nice value of all threads that the process has.</summary>
    public static void SetNice(int processId, int nice)
    {
        foreach (string task in Directory.GetDirectories($"/proc/{processId}/task"))
        {
            // A thread may have ended meanwhile.
            _ = SetPriority(ByProcess, int.Parse(Path.GetFileName(task), CultureInfo.InvariantCulture), nice);
        }
    }

    [LibraryImport("libc", EntryPoint = "kill", SetLastError = true)]
    private static partial int Kill(int processId, int signal);

    [LibraryImport("libc", EntryPoint = "prlimit64", SetLastError = true)]
    private static partial int ProcessLimit(int processId, int resource, in Limit limit, out Limit before);

    [LibraryImport("libc", EntryPoint = "prlimit64", SetLastError = true)]
    private static partial int ProcessLimit(int processId, int resource, nint none, out Limit before);

    [LibraryImport("libc", EntryPoint = "setpriority", SetLastError = true)]
    private static partial int SetPriority(int which, int who, int priority);
}

/// <summary>The current and the maximum value of a limit.</summary>
internal readonly record struct Limit(ulong Current, ulong Maximum);
