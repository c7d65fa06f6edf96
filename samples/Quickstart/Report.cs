using System.Diagnostics;
using System.Globalization;

namespace RpcOverShm.Samples;

/// <summary>Prints what happened and how long it took, and counts what was not as expected.</summary>
internal sealed class Report
{
    private const int MeasuredCalls = 10_000;
    private const int WarmUpCalls = 20_000;

    public int Failures { get; private set; }

    /// <summary>What must be so.</summary>
    /// <exception cref="InvalidOperationException">It is not.</exception>
    public static void Require(bool isRight, string problem)
    {
        if (!isRight)
        {
            throw new InvalidOperationException(problem);
        }
    }

    /// <summary>Runs something once, and prints what it says of itself.</summary>
    public async Task ShowAsync(string codec, string what, Func<Task<string>> run)
    {
        long start = Stopwatch.GetTimestamp();
        try
        {
            string result = await run();
            TimeSpan time = Stopwatch.GetElapsedTime(start);
            Console.WriteLine(string.Create(
                CultureInfo.InvariantCulture, $"{codec,-8} {what,-18} {time.TotalMilliseconds,9:F3} ms   {result}"));
        }
        catch (Exception exception)
        {
            Fail($"{codec,-8} {what}", exception.Message);
        }
    }

    public void Fail(string what, string problem)
    {
        Failures++;
        Console.WriteLine($"{what,-27} NOT AS EXPECTED: {problem}");
    }

    public void ShowLatencyHead()
    {
        Console.WriteLine();
        Console.WriteLine(
            $"latency of {MeasuredCalls:N0} blocking unary calls, {Environment.ProcessorCount} processors");
        Console.WriteLine("             p50        p99        max");
    }

    /// <summary>What a blocking call takes, in a loop on one thread, after the compiler has done its work.</summary>
    public void ShowLatency(string codec, Action call)
    {
        for (int i = 0; i < WarmUpCalls; i++)
        {
            call();
        }

        long[] ticks = new long[MeasuredCalls];
        for (int i = 0; i < ticks.Length; i++)
        {
            long start = Stopwatch.GetTimestamp();
            call();
            ticks[i] = Stopwatch.GetTimestamp() - start;
        }

        Array.Sort(ticks);
        Console.WriteLine(
            $"{codec,-8} {Micro(ticks.Length / 2)} {Micro(ticks.Length * 99 / 100)} {Micro(ticks.Length - 1)}");

        string Micro(int index) => string.Create(
            CultureInfo.InvariantCulture, $"{ticks[index] * 1e6 / Stopwatch.Frequency,7:F2} µs");
    }
}
