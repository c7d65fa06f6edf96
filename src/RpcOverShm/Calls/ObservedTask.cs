namespace RpcOverShm.Calls;

/// <summary>Marks tasks that may stay unawaited, because their failures are reported in another way too.</summary>
internal static class ObservedTask
{
    /// <summary>Marks the task's exception as observed, so that it raises no UnobservedTaskException.</summary>
    public static T Observed<T>(this T task)
        where T : Task
    {
        if (task.IsCompleted)
        {
            _ = task.Exception;
        }
        else
        {
            task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(() => _ = task.Exception);
        }

        return task;
    }

    /// <summary>
    /// Cancels a source. Its callbacks run on the thread pool, and nobody receives their exceptions. An interrupt of
    /// this thread waits for its next sleep.
    /// </summary>
    public static void CancelObserved(this CancellationTokenSource source)
    {
        try
        {
            _ = source.CancelAsync().Observed();
        }
        catch (ThreadInterruptedException)
        {
            Thread.CurrentThread.Interrupt();
        }
    }
}
