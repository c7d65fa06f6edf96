using System.Runtime.InteropServices;

namespace RpcOverShm.Perf.Peer.Recording;

/// <summary>The system calls of a measured process.</summary>
internal static partial class ProcessNative
{
    private const int PrSetPdeathsig = 1;
    private const int Sigkill = 9;
    private const int RusageSelf = 0;
    private const int ClockThreadCpuTime = 3;

    // struct rusage (getrusage(2)) on 64-bit Linux: two timevals of two longs, then 14 longs.
    private const int RusageLongs = 18;
    private const int UserSeconds = 0;
    private const int UserMicroseconds = 1;
    private const int SystemSeconds = 2;
    private const int SystemMicroseconds = 3;
    private const int VoluntarySwitches = 16;
    private const int InvoluntarySwitches = 17;

    /// <summary>Asks the kernel to kill this process when the thread that started it ends.</summary>
    public static void DieWithParent() => _ = ControlProcess(PrSetPdeathsig, Sigkill, 0, 0, 0);

    /// <summary>Makes a pipe with a name, for this user alone.</summary>
    public static void MakeFifo(string path)
    {
        const uint ownerReadsAndWrites = 0b110_000_000;
        if (MakeNamedPipe(path, ownerReadsAndWrites) != 0)
        {
            throw new IOException($"The pipe '{path}' cannot be made: error {Marshal.GetLastPInvokeError()}.");
        }
    }

    /// <summary>Sends a signal to a process of this user.</summary>
    public static void SendSignal(int process, int signal)
    {
        if (process <= 0 || Kill(process, signal) != 0)
        {
            throw new IOException($"Process {process} cannot be signalled.");
        }
    }

    /// <summary>The id of the parent process; 1 or a reaper's if the parent has ended.</summary>
    [LibraryImport("libc", EntryPoint = "getppid")]
    public static partial int GetParentId();

    /// <summary>CPU time and context switches of all threads of this process, ended ones included.</summary>
    public static (long CpuMicroseconds, long Voluntary, long Involuntary) GetUsage()
    {
        Span<long> usage = stackalloc long[RusageLongs];
        usage.Clear();
        _ = GetResourceUsage(RusageSelf, usage);
        long microseconds = ((usage[UserSeconds] + usage[SystemSeconds]) * 1_000_000)
            + usage[UserMicroseconds] + usage[SystemMicroseconds];
        return (microseconds, usage[VoluntarySwitches], usage[InvoluntarySwitches]);
    }

    /// <summary>The processor time that the calling thread has used so far.</summary>
    public static long GetThreadNanoseconds()
    {
        // struct timespec of 64-bit Linux: seconds, nanoseconds.
        Span<long> time = stackalloc long[2];
        time.Clear();
        _ = GetClock(ClockThreadCpuTime, time);
        return (time[0] * 1_000_000_000) + time[1];
    }

    [LibraryImport("libc", EntryPoint = "mkfifo", StringMarshalling = StringMarshalling.Utf8, SetLastError = true)]
    private static partial int MakeNamedPipe(string path, uint mode);

    [LibraryImport("libc", EntryPoint = "kill")]
    private static partial int Kill(int process, int signal);

    [LibraryImport("libc", EntryPoint = "clock_gettime")]
    private static partial int GetClock(int clock, Span<long> time);

    [LibraryImport("libc", EntryPoint = "getrusage")]
    private static partial int GetResourceUsage(int who, Span<long> usage);

    [LibraryImport("libc", EntryPoint = "prctl")]
    private static partial int ControlProcess(int option, ulong value, ulong unused3, ulong unused4, ulong unused5);
}
