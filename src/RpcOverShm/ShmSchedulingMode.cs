namespace RpcOverShm;

/// <summary>
/// On which threads a channel runs the continuations of awaited calls, and a server its methods. Whatever the mode: an
/// <c>await</c> resumes on the caller's <see cref="SynchronizationContext"/> where there is one, and a blocking call
/// returns on its own thread.
/// </summary>
public enum ShmSchedulingMode
{
    /// <summary>
    /// On the thread that reads the connection, where that pays: no hand-over to another thread. Code that proves slow
    /// runs on the thread pool, and code that blocks the thread does not block the connection: another thread reads on
    /// after a millisecond or two. The default.
    /// </summary>
    Adaptive = 0,

    /// <summary>
    /// On the thread that reads the connection, also where it proves slow; on the thread pool only where a blocking
    /// caller reads or several such threads are blocked. For code that is known to be short and never to block: where
    /// it does, other calls of the connection wait for a millisecond or two each time.
    /// </summary>
    Inline = 1,

    /// <summary>
    /// Always on the thread pool, as other gRPC implementations do. Costs a hand-over to another thread for each call.
    /// </summary>
    ThreadPool = 2,
}
