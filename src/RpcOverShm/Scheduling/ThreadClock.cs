using System.Diagnostics;
using RpcOverShm.Segments;

namespace RpcOverShm.Scheduling;

/// <summary>
/// The processor time of the calling thread. Unlike a wall clock it does not count the time in which the thread waits
/// for a processor. On systems other than Linux it is the wall clock.
/// </summary>
internal static class ThreadClock
{
    public const long TicksPerMicrosecond = 1000;

    /// <summary>Nanoseconds since an arbitrary moment of this thread. Reading it is a system call.</summary>
    public static long Now => OperatingSystem.IsLinux()
        ? LinuxNative.ReadClock(LinuxNative.ClockThreadCpuTime)
        : Stopwatch.GetElapsedTime(0).Ticks * TimeSpan.NanosecondsPerTick;
}
