using System.Runtime;

namespace RpcOverShm.Perf.Peer.Recording;

/// <summary>What this process has used since it started, or, as a difference of two samples, in between.</summary>
/// <param name="CpuMicroseconds">User and system time of all threads, by getrusage.</param>
/// <param name="AllocatedBytes">Managed memory that was allocated, freed or not.</param>
/// <param name="VoluntarySwitches">How often a thread gave its processor up to wait: futexes, sockets, yields.</param>
/// <param name="InvoluntarySwitches">How often a thread was made to.</param>
/// <param name="CompiledMethods">
/// Methods compiled, each tier counted: it stands still once the compiler has settled.
/// </param>
internal readonly record struct ResourceSample(
    long CpuMicroseconds,
    long AllocatedBytes,
    long VoluntarySwitches,
    long InvoluntarySwitches,
    long CompiledMethods)
{
    public static ResourceSample Take()
    {
        long allocated = GC.GetTotalAllocatedBytes(precise: true);
        long compiled = JitInfo.GetCompiledMethodCount();
        if (!OperatingSystem.IsLinux())
        {
            TimeSpan time = Environment.CpuUsage.TotalTime;
            return new ResourceSample((long)time.TotalMicroseconds, allocated, 0, 0, compiled);
        }

        (long cpu, long voluntary, long involuntary) = ProcessNative.GetUsage();
        return new ResourceSample(cpu, allocated, voluntary, involuntary, compiled);
    }

    public static ResourceSample Read(LineReader line) => new(
        line.NextNumber(), line.NextNumber(), line.NextNumber(), line.NextNumber(), line.NextNumber());

    public void Write(LineWriter line) => line
        .Add(CpuMicroseconds)
        .Add(AllocatedBytes)
        .Add(VoluntarySwitches)
        .Add(InvoluntarySwitches)
        .Add(CompiledMethods);

    public static ResourceSample operator -(ResourceSample later, ResourceSample earlier) => new(
        later.CpuMicroseconds - earlier.CpuMicroseconds,
        later.AllocatedBytes - earlier.AllocatedBytes,
        later.VoluntarySwitches - earlier.VoluntarySwitches,
        later.InvoluntarySwitches - earlier.InvoluntarySwitches,
        later.CompiledMethods - earlier.CompiledMethods);

    public static ResourceSample operator +(ResourceSample one, ResourceSample other) => new(
        one.CpuMicroseconds + other.CpuMicroseconds,
        one.AllocatedBytes + other.AllocatedBytes,
        one.VoluntarySwitches + other.VoluntarySwitches,
        one.InvoluntarySwitches + other.InvoluntarySwitches,
        one.CompiledMethods + other.CompiledMethods);
}
