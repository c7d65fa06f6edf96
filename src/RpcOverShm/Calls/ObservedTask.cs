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
}
