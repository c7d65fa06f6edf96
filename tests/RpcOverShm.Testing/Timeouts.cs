using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;

namespace RpcOverShm.Testing;

/// <summary>
/// The bounds of waits in tests. They only end tests that hang: no test measures time with them, and none passes
/// because one has run out. Generous, since machines that build are busy; the hang watchdog's bound is longer.
/// </summary>
public static class Timeouts
{
    /// <summary>How long a test waits for any one thing.</summary>
    public static TimeSpan Wait { get; } = FromEnvironment("RPCOVERSHM_TEST_WAIT_SECONDS", 60);

    /// <summary>How long a whole test may take before the run is ended.</summary>
    public static TimeSpan Hang { get; } = FromEnvironment("RPCOVERSHM_TEST_HANG_SECONDS", 300);

    private static readonly TimeSpan s_pollPause = TimeSpan.FromMilliseconds(5);

    public static Task Bounded(this Task task, [CallerArgumentExpression(nameof(task))] string what = "") =>
        task.Within(Wait, what);

    public static Task<T> Bounded<T>(this Task<T> task, [CallerArgumentExpression(nameof(task))] string what = "") =>
        task.Within(Wait, what);

    public static Task Bounded(this ValueTask task, [CallerArgumentExpression(nameof(task))] string what = "") =>
        task.AsTask().Within(Wait, what);

    public static Task<T> Bounded<T>(
        this ValueTask<T> task, [CallerArgumentExpression(nameof(task))] string what = "") =>
        task.AsTask().Within(Wait, what);

    public static async Task Within(
        this Task task, TimeSpan bound, [CallerArgumentExpression(nameof(task))] string what = "")
    {
        try
        {
            await task.WaitAsync(bound);
        }
        catch (TimeoutException) when (!task.IsCompleted)
        {
            throw new TimeoutException($"This did not end within {bound.TotalSeconds} s: {what}");
        }
    }

    public static async Task<T> Within<T>(
        this Task<T> task, TimeSpan bound, [CallerArgumentExpression(nameof(task))] string what = "")
    {
        await Within((Task)task, bound, what);
        return await task;
    }

    /// <summary>Waits for a state that no event announces, looking every few milliseconds.</summary>
    public static Task Eventually(
        Func<bool> condition, [CallerArgumentExpression(nameof(condition))] string what = "") =>
        Eventually(condition, Wait, what);

    /// <summary>Waits for a state that no event announces, looking every few milliseconds.</summary>
    public static async Task Eventually(
        Func<bool> condition, TimeSpan bound, [CallerArgumentExpression(nameof(condition))] string what = "")
    {
        long start = Stopwatch.GetTimestamp();
        while (!condition())
        {
            if (Stopwatch.GetElapsedTime(start) > bound)
            {
                throw new TimeoutException($"This did not come true within {bound.TotalSeconds} s: {what}");
            }

            await Task.Delay(s_pollPause);
        }
    }

    /// <summary>
    /// Runs what blocks on a thread of its own, so that a test that makes many threads block does not wait for the
    /// pool to grow.
    /// </summary>
    public static Task<T> OnThread<T>(Func<T> blocking) => Task.Factory.StartNew(
        blocking, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

    /// <summary>The same for what returns nothing.</summary>
    public static Task OnThread(Action blocking) => Task.Factory.StartNew(
        blocking, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

    private static TimeSpan FromEnvironment(string name, int defaultSeconds) =>
        int.TryParse(Environment.GetEnvironmentVariable(name), CultureInfo.InvariantCulture, out int seconds)
            ? TimeSpan.FromSeconds(seconds)
            : TimeSpan.FromSeconds(defaultSeconds);
}
