using System.Diagnostics;
using System.Globalization;
using System.Runtime;

namespace RpcOverShm.Samples;

/// <summary>Prints the results of calls and their times, cold and warm, and counts the failures.</summary>
internal sealed class Report
{
    // Unary calls per measurement. Reading the clock for each call would add to its time; and if another program takes
    // the processor during a few measurements, the median of many short ones does not show it.
    private const int CallsAtOnce = 20;
    private const int FewestRounds = 3;
    private const int MostRounds = 12;

    // What is called in each round was compiled long before the last rare path is.
    private const int FewOfAllMethods = 200;

    private static readonly TimeSpan s_turn = TimeSpan.FromMilliseconds(50);

    private readonly List<(string Codec, string What, int Count, Func<Task> Run)> _repeated = [];

    public int Failures { get; private set; }

    /// <summary>Throws if a result is wrong.</summary>
    public static void Require(bool isRight, string problem)
    {
        if (!isRight)
        {
            throw new InvalidOperationException(problem);
        }
    }

    public static void ShowColdHead()
    {
        Console.WriteLine("Cold: both processes have just started. The first call of each codec connects, and the");
        Console.WriteLine("compiler meets the code. A time is of the whole line: one call, a batch, or a stream.");
        Console.WriteLine();
        Console.WriteLine("codec    call                   first      second   what happened");
    }

    /// <summary>Runs a call cold, once or twice, and prints its times and the description that it returns.</summary>
    /// <param name="codec">The name of the codec.</param>
    /// <param name="what">The shape of the call.</param>
    /// <param name="run">Makes the call.</param>
    /// <param name="count">The number of calls or messages of a warm run; 0 to run once, and cold only.</param>
    /// <param name="repeat">Makes the calls of a warm run; null to use <paramref name="run"/>.</param>
    public async Task ShowAsync(
        string codec, string what, Func<Task<string>> run, int count = 0, Func<Task>? repeat = null)
    {
        try
        {
            string said = "";
            string first = Milliseconds(await TimeAsync(async () => said = await run()));
            string second = count == 0 ? "" : Milliseconds(await TimeAsync(run));
            Console.WriteLine($"{codec,-8} {what,-16} {first,11} {second,11}   {said}");
            if (count > 0)
            {
                _repeated.Add((codec, what, count, repeat ?? run));
            }
        }
        catch (Exception exception)
        {
            Fail($"{codec,-8} {what}", exception.Message);
        }
    }

    /// <summary>Runs a unary call in the same way; a warm run makes many such calls.</summary>
    public Task ShowUnaryAsync<T>(string codec, string what, Func<Task<T>> call, Func<T, string> describe)
    {
        return ShowAsync(codec, what, async () => describe(await call()), CallsAtOnce, RepeatedAsync);

        async Task RepeatedAsync()
        {
            for (int i = 0; i < CallsAtOnce; i++)
            {
                await call();
            }
        }
    }

    public void Fail(string what, string problem)
    {
        Failures++;
        Console.WriteLine($"{what,-25} NOT AS EXPECTED: {problem}");
    }

    /// <summary>Repeats all calls until the compiler has finished, then prints the medians.</summary>
    public async Task ShowWarmAsync(ServerProcess server)
    {
        Console.WriteLine();
        Console.WriteLine(await WarmUpAsync(server));
        Console.WriteLine("Messages of the raw streams have up to 1 MiB, and every byte is compared. The pipe is a");
        Console.WriteLine("named one that carries the same bytes between the same two processes, without RPC.");
        Console.WriteLine();
        Console.WriteLine("codec    call              each call or message, median");
        using var client = Process.GetCurrentProcess();
        var load = new MachineLoad(client, server.Process);
        foreach ((string codec, string what, int count, Func<Task> run) in _repeated)
        {
            List<TimeSpan> times = await RepeatAsync(run);
            times.Sort();
            double each = times[times.Count / 2].TotalMicroseconds / count;
            Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{codec,-8} {what,-16} {each,10:F2} µs"));
        }

        Console.WriteLine();
        Console.WriteLine(load.Describe());
    }

    // .NET first compiles quickly, and then again, in the background, what is called often.
    private async Task<string> WarmUpAsync(ServerProcess server)
    {
        long before = 0;
        long compiled = await CountCompiledAsync(server);
        int rounds = 0;
        do
        {
            foreach ((_, _, _, Func<Task> run) in _repeated)
            {
                await RepeatAsync(run);
            }

            (before, compiled) = (compiled, await CountCompiledAsync(server));
        }
        while (++rounds < FewestRounds || (!IsDone() && rounds < MostRounds));

        return $"Warm: all calls were repeated in {rounds} rounds, {(IsDone() ? "and" : "but")} the compiler "
            + $"{(IsDone() ? "has finished" : "is not done yet")}: in the last round it has compiled "
            + $"{compiled - before} of {compiled} methods.";

        bool IsDone() => compiled - before <= compiled / FewOfAllMethods;
    }

    private static async Task<long> CountCompiledAsync(ServerProcess server) =>
        JitInfo.GetCompiledMethodCount() + await server.CountCompiledAsync();

    private static async Task<List<TimeSpan>> RepeatAsync(Func<Task> run)
    {
        var times = new List<TimeSpan>();
        long start = Stopwatch.GetTimestamp();
        while (times.Count == 0 || Stopwatch.GetElapsedTime(start) < s_turn)
        {
            times.Add(await TimeAsync(run));
        }

        return times;
    }

    private static async Task<TimeSpan> TimeAsync(Func<Task> run)
    {
        long start = Stopwatch.GetTimestamp();
        await run();
        return Stopwatch.GetElapsedTime(start);
    }

    private static string Milliseconds(TimeSpan time) =>
        time.TotalMilliseconds.ToString("F3", CultureInfo.InvariantCulture) + " ms";
}
