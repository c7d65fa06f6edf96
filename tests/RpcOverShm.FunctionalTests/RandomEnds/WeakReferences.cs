using System.Collections.Concurrent;

namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>Objects that must become unreachable after their use.</summary>
internal sealed class WeakReferences
{
    private readonly ConcurrentQueue<WeakReference> _references = new();

    public int Count => _references.Count;

    public void Add(object target) => _references.Enqueue(new WeakReference(target));

    /// <summary>Returns the number of objects that survive a full collection.</summary>
    public int CountAlive()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
        return _references.Count(reference => reference.IsAlive);
    }
}
