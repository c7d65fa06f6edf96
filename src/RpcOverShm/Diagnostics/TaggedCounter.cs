using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using System.Runtime.CompilerServices;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// Counts events of this process by the value of a tag. Listeners read the counter; it runs no code of theirs where an
/// event is counted, where a lock may be held. Thread-safe.
/// </summary>
internal sealed class TaggedCounter
{
    private readonly ConcurrentDictionary<string, StrongBox<long>> _counts = new();

    public TaggedCounter(string name, string unit, string description, string tag) =>
        Telemetry.Meter.CreateObservableCounter(
            name,
            () => _counts.Select(count => new Measurement<long>(
                Interlocked.Read(ref count.Value.Value), new KeyValuePair<string, object?>(tag, count.Key))),
            unit,
            description);

    /// <summary>Returns the number of events with this value since the process began.</summary>
    public long CountOf(string value) =>
        _counts.TryGetValue(value, out StrongBox<long>? count) ? Interlocked.Read(ref count.Value) : 0;

    public void Count(string value) =>
        Interlocked.Increment(ref _counts.GetOrAdd(value, static _ => new StrongBox<long>()).Value);
}
