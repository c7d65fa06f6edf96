namespace RpcOverShm;

/// <summary>The threads on which a channel runs continuations of awaited calls and a server runs its methods.</summary>
/// <remarks>
/// The reading thread takes the peer's messages out of shared memory: an event loop, which serves many connections, or
/// a thread that waits in a blocking call. In every mode, an <c>await</c> resumes on the caller's
/// <see cref="SynchronizationContext"/> if there is one, and a blocking call returns on its own thread.
/// <para>
/// Inline code leaves its thread as it found it: what it changes of the name, the priority, <c>IsBackground</c>, the
/// culture, the <see cref="ExecutionContext"/> and the <see cref="SynchronizationContext"/> is restored when it returns
/// or first awaits something. So it is with a callback that runs on a thread which waits in a blocking call. A lock
/// that code leaves entered stays with the thread, as on the thread pool; .NET does not tell of it. So does an
/// interrupt (<see cref="System.Threading.Thread.Interrupt"/>) that no wait of that code has received: the next one
/// gets it.
/// </para>
/// </remarks>
public enum ShmSchedulingMode
{
    /// <summary>Runs short code inline on the reading thread, slow code on the thread pool. The default.</summary>
    /// <remarks>If inline code blocks, another thread goes on with the event loop within 2 ms or so.</remarks>
    Adaptive = 0,

    /// <summary>Runs code inline on the reading thread even if it proves slow.</summary>
    /// <remarks>
    /// The thread pool runs code only if a thread that waits in a blocking call has read the message, or while 8
    /// threads are blocked in code of the connection, or 16 in that of its event loop. Intended for code that is short
    /// and never blocks: each time that it blocks, the calls of all connections of the event loop wait for 2 ms or so.
    /// </remarks>
    Inline = 1,

    /// <summary>
    /// Runs code on the thread pool, as other gRPC implementations do; costs a thread switch for each call.
    /// </summary>
    ThreadPool = 2,
}
