namespace RpcOverShm;

/// <summary>The threads on which a channel runs continuations of awaited calls and a server runs its methods.</summary>
/// <remarks>
/// The reading thread takes the peer's messages out of shared memory: an event loop, which serves many connections, or
/// a thread that waits in a blocking call. In every mode, an <c>await</c> resumes on the caller's
/// <see cref="SynchronizationContext"/> if there is one, and a blocking call returns on its own thread.
/// </remarks>
public enum ShmSchedulingMode
{
    /// <summary>Runs short code inline on the reading thread, slow code on the thread pool. The default.</summary>
    /// <remarks>If inline code blocks, another thread takes over reading within a millisecond or two.</remarks>
    Adaptive = 0,

    /// <summary>Runs code inline on the reading thread even if it proves slow.</summary>
    /// <remarks>
    /// The thread pool runs code only if the reading thread is in a blocking call, or if several reading threads are
    /// blocked. Intended for code that is short and never blocks: each time that it blocks, the calls of all
    /// connections of the event loop wait for a millisecond or two.
    /// </remarks>
    Inline = 1,

    /// <summary>
    /// Runs code on the thread pool, as other gRPC implementations do; costs a thread switch for each call.
    /// </summary>
    ThreadPool = 2,
}
