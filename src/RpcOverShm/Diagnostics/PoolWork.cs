namespace RpcOverShm.Diagnostics;

/// <summary>
/// Queues work to the thread pool without the caller's context. The pool takes locks, and an interrupt of the caller
/// must not lose the work (<see cref="UninterruptibleLock"/>). Thread-safe.
/// </summary>
internal static class PoolWork
{
    private static readonly Func<IThreadPoolWorkItem, bool> s_queue =
        static item => ThreadPool.UnsafeQueueUserWorkItem(item, preferLocal: false);

    private static readonly Func<IThreadPoolWorkItem, bool> s_queueLocally =
        static item => ThreadPool.UnsafeQueueUserWorkItem(item, preferLocal: true);

    public static void Queue(IThreadPoolWorkItem item, bool preferLocal = false) =>
        UninterruptibleLock.Run(item, preferLocal ? s_queueLocally : s_queue);

    public static void Queue<TState>(Action<TState> action, TState state) => Queue(new Work<TState>(action, state));

    // In place of the pool's own object for an action: ReadyToRun code holds no generic code of .NET for our types.
    private sealed class Work<TState>(Action<TState> action, TState state) : IThreadPoolWorkItem
    {
        void IThreadPoolWorkItem.Execute() => action(state);
    }
}
