using System.Runtime;

namespace RpcOverShm.Perf.Peer.Recording;

/// <summary>
/// The resources that this process has used since its start, or, as a difference of two samples, in between.
/// </summary>
/// <param name="CpuMicroseconds">User and system time of all threads, by getrusage.</param>
/// <param name="AllocatedBytes">Managed memory that was allocated, freed or not.</param>
/// <param name="VoluntarySwitches">
/// The number of times that a thread gave up its processor to wait: futexes, sockets, yields.
/// </param>
/// <param name="InvoluntarySwitches">The number of times that a thread lost its processor.</param>
/// <param name="CompiledMethods">Methods compiled, each tier counted: constant once the compiler has settled.</param>
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

/// <summary>
/// The resources used and messages served since the process started, or, as a difference of two samples, in between.
/// </summary>
/// <param name="Used">The resources that it used.</param>
/// <param name="Messages">See <see cref="ServedTally.Messages"/>.</param>
/// <param name="WrongBytes">See <see cref="ServedTally.WrongBytes"/>.</param>
internal readonly record struct PeerSample(ResourceSample Used, long Messages, long WrongBytes)
{
    public static PeerSample Take() => new(ResourceSample.Take(), ServedTally.Messages, ServedTally.WrongBytes);

    public static PeerSample Read(LineReader line) =>
        new(ResourceSample.Read(line), line.NextNumber(), line.NextNumber());

    public void Write(LineWriter line)
    {
        Used.Write(line);
        line.Add(Messages).Add(WrongBytes);
    }

    public static PeerSample operator -(PeerSample later, PeerSample earlier) => new(
        later.Used - earlier.Used, later.Messages - earlier.Messages, later.WrongBytes - earlier.WrongBytes);
}
