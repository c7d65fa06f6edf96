namespace RpcOverShm.Perf.Recording;

/// <summary>
/// The time of all processors together since the machine started, in the kernel's ticks; zeros on other systems.
/// </summary>
/// <param name="All">Everything, idle time included.</param>
/// <param name="Steal">Time in which the hypervisor ran something else.</param>
internal readonly record struct CpuTimes(long All, long Steal)
{
    // "cpu  user nice system idle iowait irq softirq steal ..." (proc_stat(5))
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
        return new CpuTimes(ticks.Sum(), ticks.ElementAtOrDefault(StealField));
    }
}
