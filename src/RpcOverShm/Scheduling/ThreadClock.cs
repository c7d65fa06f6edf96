using System.Diagnostics;
using System.Runtime.InteropServices;

namespace RpcOverShm.Scheduling;

/// <summary>
/// The processor time of the calling thread. Unlike a wall clock it does not count the time in which the thread waits
/// for a processor. On systems other than Linux it is the wall clock.
/// </summary>
internal static partial class ThreadClock
{
    private const int ThreadCpuTime = 3; // CLOCK_THREAD_CPUTIME_ID, clock_gettime(2)

    public const long TicksPerMicrosecond = 1000;

    /// <summary>Nanoseconds since an arbitrary moment of this thread. Reading it is a system call.</summary>
    public static long Now
    {
        get
        {
            if (!OperatingSystem.IsLinux())
            {
                return Stopwatch.GetElapsedTime(0).Ticks * TimeSpan.NanosecondsPerTick;
            }

            _ = ClockGetTime(ThreadCpuTime, out TimeSpec time);
            return (time.Seconds * 1_000_000_000) + time.Nanoseconds;
        }
    }

    [LibraryImport("libc", EntryPoint = "clock_gettime")]
    private static partial int ClockGetTime(int clock, out TimeSpec time);

    /// <summary>The <c>struct timespec</c> of 64-bit Linux.</summary>
    private struct TimeSpec
    {
        public long Seconds;
        public long Nanoseconds;
    }
}
