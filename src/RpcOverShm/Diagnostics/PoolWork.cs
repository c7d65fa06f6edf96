namespace RpcOverShm.Diagnostics;

/// <summary>
/// Queues work to the thread pool without the caller's context. The pool takes locks, and an interrupt of the caller
/// must not lose the work (<see cref="UninterruptibleLock"/>). Thread-safe.
/// </summary>
internal static class PoolWork
{
    public static void Queue(IThreadPoolWorkItem item, bool preferLocal = false) => UninterruptibleLock.Run(
        (item, preferLocal), static work => ThreadPool.UnsafeQueueUserWorkItem(work.item, work.preferLocal));

    public static void Queue<TState>(Action<TState> action, TState state) => UninterruptibleLock.Run(
        (action, state),
        static work => ThreadPool.UnsafeQueueUserWorkItem(work.action, work.state, preferLocal: false));
}
