namespace RpcOverShm.Perf.Recording;

/// <summary>
/// The time of all processors together since the machine started, in the kernel's ticks; zeros on other systems.
/// </summary>
/// <param name="All">Everything, idle time included.</param>
/// <param name="Steal">Time in which the hypervisor ran something else.</param>
/// <param name="Idle">Time in which a processor had nothing to do, or waited for a device.</param>
internal readonly record struct CpuTimes(long All, long Steal, long Idle)
{
    // "cpu  user nice system idle iowait irq softirq steal ..." (proc_stat(5))
    private const int IdleField = 3;
    private const int DeviceField = 4;
    private const int StealField = 7;
    private const int LastField = 8;

    public static CpuTimes Read()
    {
        if (!OperatingSystem.IsLinux())
        {
            return default;
        }

        using var reader = new StreamReader("/proc/stat");
        string[] fields = reader.ReadLine()!.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        IEnumerable<string> numbers = fields.Skip(1).Take(LastField);
        long[] ticks = [.. numbers.Select(number => long.Parse(number, CultureInfo.InvariantCulture))];
        return new CpuTimes(ticks.Sum(), ticks.ElementAtOrDefault(StealField), ticks[IdleField] + ticks[DeviceField]);
    }

    /// <summary>Returns the share of all processors that was not idle since an earlier time, in percent.</summary>
    public double BusyPercentSince(CpuTimes earlier)
    {
        long all = All - earlier.All;
        return all == 0 ? 0 : Math.Round(100.0 * (all - (Idle - earlier.Idle)) / all, 1);
    }
}
