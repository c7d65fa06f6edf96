using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;

namespace RpcOverShm.Testing;

/// <summary>
/// The time limits of waits in tests. They only end tests that hang: no test measures time with them, and no test
/// passes because a limit expires. They are generous, because build machines are busy; the hang watchdog's limit is
/// longer.
/// </summary>
public static class Timeouts
{
    private const int LongestPauseMilliseconds = 5;

    /// <summary>The time limit of each wait of a test.</summary>
    public static TimeSpan Wait { get; } = FromEnvironment("RPCOVERSHM_TEST_WAIT_SECONDS", 60);

    /// <summary>The time limit of a whole test, after which the hang watchdog ends the run.</summary>
    public static TimeSpan Hang { get; } = FromEnvironment("RPCOVERSHM_TEST_HANG_SECONDS", 300);

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

    /// <summary>Polls for a state that no event announces, after pauses that grow from 1 to 5 ms.</summary>
    public static Task Eventually(
        Func<bool> condition, [CallerArgumentExpression(nameof(condition))] string what = "") =>
        Eventually(condition, Wait, what);

    /// <inheritdoc cref="Eventually(Func{bool}, string)"/>
    public static async Task Eventually(
        Func<bool> condition, TimeSpan bound, [CallerArgumentExpression(nameof(condition))] string what = "")
    {
        long start = Stopwatch.GetTimestamp();
        for (int pause = 1; !condition(); pause = Math.Min(2 * pause, LongestPauseMilliseconds))
        {
            if (Stopwatch.GetElapsedTime(start) > bound)
            {
                throw new TimeoutException($"This did not come true within {bound.TotalSeconds} s: {what}");
            }

            await Task.Delay(pause);
        }
    }

    /// <summary>
    /// Runs blocking code on a dedicated thread, so that a test that blocks many threads does not wait for the pool to
    /// grow.
    /// </summary>
    public static Task<T> OnThread<T>(Func<T> blocking) => Task.Factory.StartNew(
        blocking, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

    /// <summary>Runs blocking code on a dedicated thread.</summary>
    public static Task OnThread(Action blocking) => Task.Factory.StartNew(
        blocking, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

    private static TimeSpan FromEnvironment(string name, int defaultSeconds) =>
        int.TryParse(Environment.GetEnvironmentVariable(name), CultureInfo.InvariantCulture, out int seconds)
            ? TimeSpan.FromSeconds(seconds)
            : TimeSpan.FromSeconds(defaultSeconds);
}
