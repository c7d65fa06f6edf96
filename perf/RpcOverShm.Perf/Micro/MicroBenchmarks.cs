using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Diagnosers;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Reports;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains.InProcess.Emit;

namespace RpcOverShm.Perf.Micro;

/// <summary>
/// The pieces of a call, each alone in this process: the cost of one operation without contention for its cache lines.
/// Together with the rest they explain the time of a call.
/// </summary>
[TestFixture]
[NonParallelizable]
[Category("Micro")]
public sealed class MicroBenchmarks
{
    private const int WarmUps = 2;
    private const int Iterations = 6;
    private const int IterationMilliseconds = 50;

    private static readonly Type[] s_pieces =
    [
        typeof(ClockPieces), typeof(RingPieces), typeof(FramePieces), typeof(SignalPieces), typeof(CallPieces),
        typeof(RecordPieces),
    ];

    [Test]
    public async Task Run_EveryPiece_IsMeasured()
    {
        PerfRun run = PerfRun.Current;
        await run.LearnFactsAsync();
        var rows = new List<string[]>();
        foreach (Type piece in s_pieces)
        {
            PerfRun.Say($"Micro: {piece.Name}.");
            Summary summary = BenchmarkRunner.Run(piece, MakeConfig());
            Assert.That(summary.HasCriticalValidationErrors, Is.False, piece.Name);
            rows.AddRange(summary.Reports.Select(RowOf));
        }

        run.Add(new ReportTable(
            "Pieces of a call",
            "One process, one thread but for the last, everything in the first cache: mean by BenchmarkDotNet, with "
            + "its standard error. Two processes pay the way between their caches besides.",
            ["piece", "ns", "error ns", "allocated B"],
            rows));
        Assert.That(rows, Is.All.Matches<string[]>(row => row[1] != "0"));
    }

    private static ManualConfig MakeConfig() => ManualConfig.CreateEmpty()
        .AddJob(Job.Default
            .WithToolchain(InProcessEmitToolchain.Instance)
            .WithWarmupCount(WarmUps)
            .WithIterationCount(Iterations)
            .WithIterationTime(Perfolizer.Horology.TimeInterval.FromMilliseconds(IterationMilliseconds)))
        .AddDiagnoser(MemoryDiagnoser.Default)
        .AddLogger(NullLogger.Instance)
        .WithArtifactsPath(Path.Combine(Path.GetTempPath(), "rpcovershm-micro"))
        .WithOptions(ConfigOptions.DisableLogFile | ConfigOptions.DisableOptimizationsValidator);

    private static string[] RowOf(BenchmarkReport report)
    {
        string name = string.Join(
            ", ",
            report.BenchmarkCase.Parameters.Items.Select(parameter => parameter.Value)
                .Append(report.BenchmarkCase.Descriptor.WorkloadMethodDisplayInfo.Trim('\'')));
        long? allocated = report.GcStats.GetBytesAllocatedPerOperation(report.BenchmarkCase);
        return
        [
            name, Format.Number(report.ResultStatistics?.Mean ?? 0),
            Format.Number(report.ResultStatistics?.StandardError ?? 0), Format.Number(allocated ?? 0),
        ];
    }
}
