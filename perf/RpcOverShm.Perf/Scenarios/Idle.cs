namespace RpcOverShm.Perf.Scenarios;

/// <summary>The cost of an unused connection between two processes of its own, which were busy just before.</summary>
[TestFixture]
[NonParallelizable]
[Order(9)]
[Category(nameof(Idle))]
public sealed class Idle
{
    private const int SizeBytes = 100;
    private static readonly TimeSpan s_busy = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_settling = TimeSpan.FromSeconds(5);

    // Longer than a connection stays prepared for the next call.
    private static readonly TimeSpan s_settlingOfMany = TimeSpan.FromSeconds(8);
    private static readonly TimeSpan s_measured = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan s_mostCpu = TimeSpan.FromMilliseconds(10);

    private const int Connections = 100;
    private const int CallsEach = 100;
    private const int MostRepeats = 2;
    private const double Mebibyte = 1 << 20;

    private static string[] Arms { get; } = PerfSettings.IsFull ? ["shm-protobuf", "raw-stream"] : ["shm-protobuf"];

    [TestCaseSource(nameof(Arms))]
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

        // The first sample lets the compiler finish, whose work would otherwise be measured.
        await pair.SampleAsync();
        ResourceSample used = await MeasureAsync(pair);
        for (int again = 0; again < MostRepeats && Cpu(used) >= s_mostCpu; again++)
        {
            // One-off work of the runtime, a collection for example, is not a cost of the connection.
            PerfRun.Say($"{used.CpuMicroseconds} µs; once more.");
            used = await MeasureAsync(pair);
        }

        string found = string.Create(
            CultureInfo.InvariantCulture,
            $"An idle connection of {arm} cost {Cpu(used).TotalMilliseconds:0.00} ms of CPU and "
            + $"{used.VoluntarySwitches} context switches in {s_measured.TotalSeconds:0} s, both processes together.");
        PerfRun.Say(found);
        run.Add(found);
        Assert.That(Cpu(used) < s_mostCpu || !PerfSettings.AssertsBars, found);
    }

    [Test]
    public async Task HundredConnections_NobodyUses_CostLittle()
    {
        PerfRun.Say($"{nameof(Idle)}: {Connections} connections of shm-protobuf.");
        PerfRun run = PerfRun.Current;
        await using ArmPair pair = run.Fleet.MakePair("crowd.idle", "shm-protobuf");
        await pair.StartAsync();
        await run.LearnFactsAsync(pair);

        // The first connection's cost is mostly that of the runtime.
        await pair.WidenAsync(1, CallsEach);
        await Task.Delay(s_settling);
        (FootprintSample Server, FootprintSample Client) before = await pair.FootprintAsync();
        await pair.WidenAsync(Connections - 1, CallsEach);
        await Task.Delay(s_settlingOfMany);
        (FootprintSample Server, FootprintSample Client) after = await pair.FootprintAsync();

        await pair.SampleAsync();
        ResourceSample used = await MeasureAsync(pair);
        long pss = Math.Max(
            after.Server.PssBytes - before.Server.PssBytes, after.Client.PssBytes - before.Client.PssBytes);
        long threads = Math.Max(
            after.Server.Threads - before.Server.Threads, after.Client.Threads - before.Client.Threads);
        PerfRun.Say($"{used.VoluntarySwitches} context switches in {s_measured.TotalSeconds:0} s.");
        run.Report(
        [
            MakeBar("CPU in 10 s, both processes", "ms", used.CpuMicroseconds / 1000.0, 10, 10),
            MakeBar("Pss growth per connection and process", "MiB", pss / Mebibyte / (Connections - 1), 2.5, 2.5),
            MakeBar("threads per connection and process", "threads", (double)threads / (Connections - 1), 3, 1),
        ]);
    }

    // Measured once: there is no interval.
    private static ReportBar MakeBar(string figure, string unit, double value, double limit, double aim)
    {
        figure = $"{Connections} idle connections, {figure}";
        return ReportBar.Of(figure, nameof(Idle), Ratio.Single(value), limit, aim, isUpper: true, unit);
    }

    private static async Task<ResourceSample> MeasureAsync(ArmPair pair)
    {
        ResourceSample before = await pair.SampleAsync();
        await Task.Delay(s_measured);
        return await pair.SampleAsync() - before;
    }

    private static TimeSpan Cpu(ResourceSample used) => TimeSpan.FromMicroseconds(used.CpuMicroseconds);
}
