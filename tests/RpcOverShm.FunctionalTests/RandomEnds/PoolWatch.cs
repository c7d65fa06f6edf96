using System.Buffers;
using System.Collections.Concurrent;
using System.Diagnostics.Tracing;
using RpcOverShm.Buffers;

namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>
/// Counts the arrays of the shared byte pool, and of the library's own, that were rented since its creation and not
/// returned. It sees the whole process, where other code may rent too, so tests wait for the count.
/// </summary>
internal sealed class PoolWatch : EventListener
{
    private const string PoolEvents = "System.Buffers.ArrayPoolEventSource";
    private const int Rented = 1;
    private const int Returned = 3;

    // The base constructor announces sources before this class's constructor runs, so this needs an initializer.
    private readonly ConcurrentDictionary<int, int> _outstanding = new();
    private readonly long _ownRents = ByteArrays.Rents;
    private readonly long _ownReturns = ByteArrays.Returns;
    private int _rented;

    public long RentedCount => Volatile.Read(ref _rented) + ByteArrays.Rents - _ownRents;

    /// <summary>The number of arrays rented and not returned.</summary>
    public long Outstanding => _outstanding.Count + OwnOutstanding;

    private long OwnOutstanding => ByteArrays.Rents - _ownRents - (ByteArrays.Returns - _ownReturns);

    /// <summary>Lists the sizes of the outstanding arrays.</summary>
    public override string ToString() =>
        $"{string.Join(", ", _outstanding.Values.Order())}, and {OwnOutstanding} large ones";

    protected override void OnEventSourceCreated(EventSource eventSource)
    {
        if (eventSource.Name == PoolEvents)
        {
            EnableEvents(eventSource, EventLevel.Verbose);
        }
    }

    protected override void OnEventWritten(EventWrittenEventArgs eventData)
    {
        // Both events carry the array, its size and the pool.
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
