namespace RpcOverShm.Perf.Report;

/// <summary>The facts of a run as rows of a table: a name, and what it is.</summary>
internal static class MachineTable
{
    public static IEnumerable<IReadOnlyList<string>> Rows(PerfReport report)
    {
        MachineFacts machine = report.Machine;
        string processor = machine.Hypervisor ? "cores, a virtual machine" : "cores";
        return (IEnumerable<string[]>)
        [
            ["date", machine.Date],
            ["commit", machine.Commit],
            ["SDK, runtime", $"{machine.Sdk}, {machine.Runtime}"],
            ["garbage collector", machine.GcMode],
            ["large objects", $"from {machine.LohThresholdBytes} bytes on, set alike in all processes of all arms"],
            ["tiered compilation", machine.TieredCompilation],
            ["kernel, system", machine.Kernel],
            ["processor", $"{machine.CpuModel}, {machine.Cores} {processor}"],
            ["clock", machine.Clocksource],
            ["load average", $"{machine.LoadAverageBefore} before, {machine.LoadAverageAfter} after"],
            ["steal", Format.Invariant($"{machine.StealPercent:0.00} % of the time")],
            ["rounds with steal", $"{machine.RoundsWithSteal} of {machine.RoundsMeasured}; none is left out"],
            ["ring", $"{machine.RingCapacityBytes} bytes each way"],
            ["measured", Format.Invariant($"{machine.SecondsPerRow} s a row, in {machine.Rounds} rounds")],
            ["sizes and counts", PerfSettings.IsFull ? "all" : "the short set"],
            ["seed", Format.Invariant($"{report.Seed}")],
        ];
    }
}
