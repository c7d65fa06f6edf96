using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace RpcOverShm.Testing;

/// <summary>
/// The bounds of waits in tests: every wait has one, so that a hang is a failure with a name. None is a measurement: a
/// loaded machine may take long, so they are generous and nothing else depends on them.
/// </summary>
public static class Timeouts
{
    /// <summary>Longer than anything that works takes, even on a machine that does other things.</summary>
    public static readonly TimeSpan Hang = TimeSpan.FromSeconds(8);

    private static readonly TimeSpan s_pollPause = TimeSpan.FromMilliseconds(5);

    public static Task Bounded(this Task task, [CallerArgumentExpression(nameof(task))] string what = "") =>
        task.Within(Hang, what);

    public static Task<T> Bounded<T>(this Task<T> task, [CallerArgumentExpression(nameof(task))] string what = "") =>
        task.Within(Hang, what);

    public static Task Bounded(this ValueTask task, [CallerArgumentExpression(nameof(task))] string what = "") =>
        task.AsTask().Within(Hang, what);

    public static Task<T> Bounded<T>(this ValueTask<T> task, [CallerArgumentExpression(nameof(task))] string what = "") =>
        task.AsTask().Within(Hang, what);

    public static async Task Within(
        this Task task, TimeSpan bound, [CallerArgumentExpression(nameof(task))] string what = "")
    {
        if (await Task.WhenAny(task, Task.Delay(bound)) != task)
        {
            throw new TimeoutException($"This did not end within {bound.TotalSeconds} s: {what}");
        }

        await task;
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
        Eventually(condition, Hang, what);

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
}
