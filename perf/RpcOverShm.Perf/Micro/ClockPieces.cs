using BenchmarkDotNet.Attributes;

namespace RpcOverShm.Perf.Micro;

/// <summary>The suite's own cost, on the clock of a call and off it.</summary>
public class ClockPieces
{
    private const int Bytes = 100;
    private readonly byte[] _payload = new byte[Bytes];

    [Benchmark(Description = "a look at the clock")]
    public long Clock() => Stopwatch.GetTimestamp();

    [Benchmark(Description = "filling and checking 100 B (not on a call's clock)")]
    public long FillAndCheck()
    {
        PayloadPattern.Fill(_payload, 1);
        return PayloadPattern.CountWrong(_payload, 1, Bytes);
    }
}
