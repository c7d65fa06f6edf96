using System.Collections.Concurrent;
using System.Diagnostics;
using System.Text;

namespace RpcOverShm.Testing;

/// <summary>
/// Ends the process when one test has run too long, and prints the running tests and the state of each thread.
/// Cancellation is not enough: a thread that sleeps on a futex or spins ignores it.
/// </summary>
public static class HangWatchdog
{
    private static readonly TimeSpan s_period = TimeSpan.FromSeconds(1);

    private static readonly ConcurrentDictionary<string, Run> s_running = new();
    private static int s_isWatching;

    /// <summary>Starts the time limit of a test. The name must be unique among the running tests.</summary>
    public static void Begin(string test, TimeSpan bound)
    {
        s_running[test] = new Run(Stopwatch.GetTimestamp(), bound);
        if (Interlocked.Exchange(ref s_isWatching, 1) == 0)
        {
            // A dedicated thread, because a test may keep every thread of the pool busy.
            new Thread(Watch) { IsBackground = true, Name = "Hang watchdog" }.Start();
        }
    }

    /// <summary>Restarts the time limit of every running test.</summary>
    public static void Renew()
    {
        foreach ((string test, Run run) in s_running)
        {
            // TryUpdate does not add a test that has ended in the meantime.
            s_running.TryUpdate(test, run with { Start = Stopwatch.GetTimestamp() }, run);
        }
    }

    public static void End(string test) => s_running.TryRemove(test, out _);

    private static void Watch()
    {
        while (true)
        {
            Thread.Sleep(s_period);
            foreach ((string test, Run run) in s_running)
            {
                if (Stopwatch.GetElapsedTime(run.Start) > run.Bound)
                {
                    string report = Describe(test, run.Bound);
                    Console.Error.WriteLine(report);
                    Environment.FailFast(report);
                }
            }
        }
    }

    private static string Describe(string test, TimeSpan bound)
    {
        var text = new StringBuilder();
        text.AppendLine($"The test {test} has run for more than {bound.TotalSeconds} s.");
        text.AppendLine($"Running tests: {string.Join(", ", s_running.Keys)}");
        text.AppendLine(
            $"Thread pool: {ThreadPool.ThreadCount} threads, {ThreadPool.PendingWorkItemCount} items wait.");
        foreach (string task in Directory.Exists("/proc/self/task") ? Directory.GetDirectories("/proc/self/task") : [])
        {
            text.AppendLine($"{Path.GetFileName(task)} {ReadOrEmpty(task, "comm")}: {ReadOrEmpty(task, "wchan")}, "
                + $"in system call {ReadOrEmpty(task, "syscall")}");
        }

        return text.ToString();
    }

    private static string ReadOrEmpty(string task, string file)
    {
        try
        {
            return File.ReadAllText(Path.Combine(task, file)).Trim();
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return "?";
        }
    }

    private readonly record struct Run(long Start, TimeSpan Bound);
}
