using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;

namespace RpcOverShm.Samples;

/// <summary>Tells how busy the machine was with other programs since this object was created.</summary>
internal sealed partial class MachineLoad
{
    private const double Noticeable = 0.1;
    private const int TicksPerSecond = 100; // the unit of /proc/stat (USER_HZ), the same on all architectures here

    private readonly Process[] _own;
    private readonly long _start = Stopwatch.GetTimestamp();
    private readonly TimeSpan _busyBefore;
    private readonly TimeSpan _ownBefore;

    /// <param name="own">The processes that do not count as other ones.</param>
    public MachineLoad(params Process[] own)
    {
        _own = own;
        _busyBefore = Busy();
        _ownBefore = Own();
    }

    public string Describe()
    {
        TimeSpan others = Busy() - _busyBefore - (Own() - _ownBefore);
        double share = Math.Clamp(
            others / (Stopwatch.GetElapsedTime(_start) * Environment.ProcessorCount), 0, 1);
        return string.Create(
            CultureInfo.InvariantCulture,
            $"The machine: {Environment.ProcessorCount} processors{LoadOfLastMinute()}; "
                + $"other programs took {share * 100:F0} % of the processors.")
            + (share > Noticeable ? "\nIt was busy: on a quiet machine these times are shorter." : "");
    }

    // Windows counts no load.
    private static string LoadOfLastMinute() => OperatingSystem.IsWindows()
        ? ""
        : $", load {File.ReadAllText("/proc/loadavg").Split(' ')[0]} in the last minute";

    private static TimeSpan Busy() => OperatingSystem.IsWindows() ? BusyOnWindows() : BusyOnLinux();

    // All processors, with the time that a hypervisor gave to other machines (the 8th number), without idle time and
    // waits for devices (the 4th and 5th).
    private static TimeSpan BusyOnLinux()
    {
        long[] ticks =
        [
            .. File.ReadLines("/proc/stat").First().Split(' ', StringSplitOptions.RemoveEmptyEntries)
                .Skip(1).Take(8).Select(text => long.Parse(text, CultureInfo.InvariantCulture)),
        ];
        return TimeSpan.FromSeconds((double)(ticks.Sum() - ticks[3] - ticks[4]) / TicksPerSecond);
    }

    // The time of the kernel contains that in which a processor is idle.
    private static TimeSpan BusyOnWindows() => GetSystemTimes(out long idle, out long kernel, out long user) != 0
        ? TimeSpan.FromTicks(kernel + user - idle)
        : throw new InvalidOperationException($"GetSystemTimes failed: {Marshal.GetLastPInvokeErrorMessage()}");

    [LibraryImport("kernel32", SetLastError = true)]
    private static partial int GetSystemTimes(out long idle, out long kernel, out long user);

    private TimeSpan Own()
    {
        TimeSpan sum = TimeSpan.Zero;
        foreach (Process process in _own)
        {
            process.Refresh();
            sum += process.TotalProcessorTime;
        }

        return sum;
    }
}
