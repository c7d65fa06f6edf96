using System.Buffers;
using System.Collections.Concurrent;
using System.Diagnostics.Tracing;

namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>
/// Counts the arrays of the shared pool of bytes that were rented while it watched, and not given back. Of the whole
/// process: what else runs there may rent too, so the count is waited for.
/// </summary>
internal sealed class PoolWatch : EventListener
{
    private const string PoolEvents = "System.Buffers.ArrayPoolEventSource";
    private const int Rented = 1;
    private const int Returned = 3;

    // The base class announces sources before the constructor has run, so this may not be set there.
    private readonly ConcurrentDictionary<int, int> _outstanding = new();
    private int _rented;

    /// <summary>How many were rented so far.</summary>
    public int RentedCount => Volatile.Read(ref _rented);

    /// <summary>How many of them have not come back.</summary>
    public int Outstanding => _outstanding.Count;

    /// <summary>The sizes of those.</summary>
    public override string ToString() => string.Join(", ", _outstanding.Values.Order());

    protected override void OnEventSourceCreated(EventSource eventSource)
    {
        if (eventSource.Name == PoolEvents)
        {
            EnableEvents(eventSource, EventLevel.Verbose);
        }
    }

    protected override void OnEventWritten(EventWrittenEventArgs eventData)
    {
        // Of both events: the array, its size, the pool.
        if (eventData.EventId is not (Rented or Returned)
            || eventData.Payload is not [int id, int size, int pool, ..]
            || pool != ArrayPool<byte>.Shared.GetHashCode())
        {
            return;
        }

        if (eventData.EventId == Rented)
        {
            Interlocked.Increment(ref _rented);
            _outstanding[id] = size;
        }
        else
        {
            _outstanding.TryRemove(id, out _);
        }
    }
}
