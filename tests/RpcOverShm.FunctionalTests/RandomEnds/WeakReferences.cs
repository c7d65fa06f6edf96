using System.Collections.Concurrent;

namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>Objects that nobody should hold once they are done with.</summary>
internal sealed class WeakReferences
{
    private readonly ConcurrentQueue<WeakReference> _references = new();

    public int Count => _references.Count;

    public void Add(object target) => _references.Enqueue(new WeakReference(target));

    /// <summary>How many of them a full collection finds in use.</summary>
    public int CountAlive()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
        return _references.Count(reference => reference.IsAlive);
    }
}
