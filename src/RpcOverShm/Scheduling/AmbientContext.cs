namespace RpcOverShm.Scheduling;

/// <summary>
/// The state that code may leave on its thread: the execution context with its AsyncLocals and the synchronization
/// context. The library captures it before it runs user code in the middle of an operation, and restores it afterwards.
/// </summary>
internal readonly struct AmbientContext(ExecutionContext? execution, SynchronizationContext? synchronization)
{
    // The same for all threads, so concurrent captures do not matter.
    private static AmbientContext s_clean;

    private readonly ExecutionContext? _execution = execution;
    private readonly SynchronizationContext? _synchronization = synchronization;

    public static AmbientContext Capture() => new(ExecutionContext.Capture(), SynchronizationContext.Current);

    public void Restore()
    {
        // Null if the thread has suppressed the flow of its context; the context then stays as it is.
        if (_execution is not null && !ReferenceEquals(ExecutionContext.Capture(), _execution))
        {
            ExecutionContext.Restore(_execution);
        }

        if (!ReferenceEquals(SynchronizationContext.Current, _synchronization))
        {
            SynchronizationContext.SetSynchronizationContext(_synchronization);
        }
    }

    /// <summary>
    /// Keeps the state of a thread on which no user code has run: each thread of the library calls it first. A thread
    /// that is started without its starter's context has the default one, which is a single instance.
    /// </summary>
    public static void CaptureClean() => s_clean = Capture();

    /// <summary>
    /// Restores the clean state. Called on a thread of the library after each run of user code, so that no state of one
    /// call leaks into the next.
    /// </summary>
    public static void RestoreClean() => s_clean.Restore();

    /// <summary>
    /// Runs work in the clean state and outside of the current task, and restores this thread's state afterwards.
    /// </summary>
    public static void RunClean(IThreadPoolWorkItem work)
    {
        // While no thread of the library has kept the clean state yet, this thread's own context has to do.
        if ((s_clean._execution ?? ExecutionContext.Capture()) is not { } clean)
        {
            work.Execute();
            return;
        }

        // Run restores both contexts, also after an exception and if their flow is suppressed.
        ExecutionContext.Run(
            clean,
            static work =>
            {
                SynchronizationContext.SetSynchronizationContext(s_clean._synchronization);
                if (TaskScheduler.Current == TaskScheduler.Default)
                {
                    ((IThreadPoolWorkItem)work!).Execute();
                    return;
                }

                // Continuations of the work must not go to the scheduler of a task that is blocked.
                var task = new Task(static work => ((IThreadPoolWorkItem)work!).Execute(), work);
                task.RunSynchronously(TaskScheduler.Default);
                task.GetAwaiter().GetResult();
            },
            work);
    }
}
