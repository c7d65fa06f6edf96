using System.Globalization;
using RpcOverShm.Perf.Peer.Loads;
using RpcOverShm.Perf.Peer.Recording;
using RpcOverShm.Perf.Peers;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>What a connection costs that nobody uses: two processes of its own, which were busy just before.</summary>
[TestFixture]
[NonParallelizable]
[Category(nameof(Idle))]
public sealed class Idle
{
    private const int SizeBytes = 100;
    private static readonly TimeSpan s_busy = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_settling = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan s_measured = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan s_mostCpu = TimeSpan.FromMilliseconds(10);

    [TestCase("shm-protobuf")]
    [TestCase("raw-stream")]
    public async Task Connection_NobodyUses_CostsNoCpu(string arm)
    {
        PerfRun.Say($"{nameof(Idle)}: {arm}.");
        PerfRun run = PerfRun.Current;
        await using ArmPair pair = run.Fleet.MakePair($"{arm}.idle", arm);
        await pair.StartAsync();
        await run.LearnFactsAsync(pair);
        foreach (CallerKind caller in Enum.GetValues<CallerKind>())
        {
            var order = new LoadOrder(LoadShape.Echo, caller, SizeBytes) { Duration = s_busy };
            SliceResult slice = await pair.RunAsync(order);
            Assert.That(slice.Problem(), Is.Null);
        }

        await Task.Delay(s_settling);
        ResourceSample before = await pair.SampleAsync();
        await Task.Delay(s_measured);
        ResourceSample used = await pair.SampleAsync() - before;
        var cpu = TimeSpan.FromMicroseconds(used.CpuMicroseconds);
        string found = string.Create(
            CultureInfo.InvariantCulture,
            $"An idle connection of {arm} cost {cpu.TotalMilliseconds:0.00} ms of CPU and {used.VoluntarySwitches} "
            + $"context switches in {s_measured.TotalSeconds:0} s, both processes together.");
        PerfRun.Say(found);
        run.Add(found);
        Assert.That(cpu, Is.LessThan(s_mostCpu), found);
    }
}
