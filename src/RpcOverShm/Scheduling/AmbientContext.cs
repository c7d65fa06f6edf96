namespace RpcOverShm.Scheduling;

/// <summary>
/// The contexts that user code may change on its thread: the execution context with its AsyncLocals and the culture,
/// and the synchronization context. The library restores them afterwards, together with the traits of the thread.
/// </summary>
internal readonly struct AmbientContext(ExecutionContext? execution, SynchronizationContext? synchronization)
{
    // The same for all threads, so concurrent captures do not matter.
    private static AmbientContext s_clean;

    private readonly ExecutionContext? _execution = execution;
    private readonly SynchronizationContext? _synchronization = synchronization;

    /// <summary>
    /// Keeps the contexts of a thread on which no user code has run: each thread of the library calls it first. A
    /// thread that is started without its starter's context has the default one, which is a single instance.
    /// </summary>
    public static void CaptureClean() =>
        s_clean = new AmbientContext(ExecutionContext.Capture(), SynchronizationContext.Current);

    /// <summary>
    /// Restores the clean contexts, and the traits of this thread. Called on a thread of the library after each run of
    /// user code, so that no state of one call leaks into the next.
    /// </summary>
    public static void RestoreClean(in ThreadTraits thread)
    {
        s_clean.RestoreContexts();
        thread.Restore();
    }

    /// <summary>
    /// Runs work in the clean contexts and outside of the current task, and restores this thread's state afterwards.
    /// </summary>
    public static void RunClean(IThreadPoolWorkItem work)
    {
        ThreadTraits thread = ThreadTraits.OfThisThread();
        try
        {
            RunInCleanContexts(work);
        }
        finally
        {
            thread.Restore();
        }
    }

    private static void RunInCleanContexts(IThreadPoolWorkItem work)
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

    private void RestoreContexts()
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
}
