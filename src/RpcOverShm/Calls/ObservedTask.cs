namespace RpcOverShm.Calls;

/// <summary>Tasks that nobody may come to look at: their failures are told otherwise too.</summary>
internal static class ObservedTask
{
    /// <summary>Marks what the task may fail with as seen, so that nobody is told of an unobserved exception.</summary>
    public static T Observed<T>(this T task)
        where T : Task
    {
        _ = task.ContinueWith(
            static failed => _ = failed.Exception,
            CancellationToken.None,
            TaskContinuationOptions.OnlyOnFaulted | TaskContinuationOptions.ExecuteSynchronously,
            TaskScheduler.Default);
        return task;
    }
}
