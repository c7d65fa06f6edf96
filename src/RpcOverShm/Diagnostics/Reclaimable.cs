using System.Diagnostics.CodeAnalysis;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// An object that its user has to dispose, and that has connections. If the user drops it instead, the garbage
/// collector finds it, and the connections are closed on the thread pool: the finalizer's thread must neither wait nor
/// run user code, such as a logger. What lives without the user, such as an event loop, must not refer to the object.
/// A disposal calls <see cref="MarkClosed"/>.
/// </summary>
internal abstract class Reclaimable : IThreadPoolWorkItem
{
    ~Reclaimable()
    {
        try
        {
            PoolWork.Queue(this);
        }
        catch (OutOfMemoryException)
        {
            GC.ReRegisterForFinalize(this);
        }
    }

    void IThreadPoolWorkItem.Execute() => CloseDropped();

    /// <summary>Notes that the user has closed the object: the garbage collector has nothing to do.</summary>
    [SuppressMessage("Usage", "CA1816", Justification = "This is the only part of a disposal that this class has.")]
    protected void MarkClosed() => GC.SuppressFinalize(this);

    /// <summary>Says in the log that the object was dropped, and closes what it has. Must not throw.</summary>
    protected abstract void CloseDropped();
}
