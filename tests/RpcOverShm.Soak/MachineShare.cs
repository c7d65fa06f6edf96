namespace RpcOverShm.Soak;

/// <summary>
/// The share of the processors that other processes left to the soak, by which its time limits are scaled: on a busy
/// machine nothing can be as fast.
/// </summary>
internal sealed class MachineShare
{
    /// <summary>The largest factor: beyond it, even a busy machine does not explain the time.</summary>
    public const double LargestFactor = 10;

    private readonly IReadOnlyCollection<int> _processes;
    private readonly long _allTicks;
    private readonly long _idleTicks;
    private readonly Dictionary<int, long> _ours;

    /// <summary>Begins to measure.</summary>
    /// <param name="processes">The processes of the soak.</param>
    public MachineShare(IReadOnlyCollection<int> processes)
    {
        _processes = processes;
        (_allTicks, _idleTicks) = ReadMachine();
        _ours = processes.ToDictionary(id => id, ReadProcess);
    }

    /// <summary>Returns the factor since the creation: 1 on an idle machine, 4 with a quarter left.</summary>
    public double Factor()
    {
        (long all, long idle) = ReadMachine();
        double total = Math.Max(1, all - _allTicks);
        double ours = _processes.Sum(id => Math.Max(0, ReadProcess(id) - _ours[id]));
        double others = Math.Clamp(total - (idle - _idleTicks) - ours, 0, total);
        return Math.Clamp(total / Math.Max(1, total - others), 1, LargestFactor);
    }

    private static (long All, long Idle) ReadMachine()
    {
        // user nice system idle iowait irq softirq steal; guests are counted in user already.
        long[] ticks =
        [
            .. File.ReadLines("/proc/stat").First().Split(' ', StringSplitOptions.RemoveEmptyEntries)[1..9]
                .Select(word => long.Parse(word, CultureInfo.InvariantCulture)),
        ];
        return (ticks.Sum(), ticks[3] + ticks[4]);
    }

    private static long ReadProcess(int id)
    {
        try
        {
            // The name may contain blanks and parentheses; the fields follow the last one.
            string stat = File.ReadAllText($"/proc/{id}/stat");
            string[] fields = stat[(stat.LastIndexOf(')') + 2)..].Split(' ');
            return long.Parse(fields[11], CultureInfo.InvariantCulture)
                + long.Parse(fields[12], CultureInfo.InvariantCulture);
        }
        catch (IOException)
        {
            return 0;
        }
    }
}
