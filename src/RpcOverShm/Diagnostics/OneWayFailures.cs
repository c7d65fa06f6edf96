using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using System.Runtime.CompilerServices;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// Counts the one-way calls that have failed or were refused in this process. The counter is read by its listeners and
/// runs no code of theirs here. Thread-safe.
/// </summary>
internal static class OneWayFailures
{
    private static readonly ConcurrentDictionary<string, StrongBox<long>> s_counts = new();

    static OneWayFailures() => Telemetry.Meter.CreateObservableCounter(
        TelemetryNames.OneWayFailed,
        Observe,
        "{call}",
        "One-way calls that failed or were refused, of which no client hears.");

    /// <summary>Returns how many calls have ended with a status since the process began.</summary>
    public static long CountOf(string status) =>
        s_counts.TryGetValue(status, out StrongBox<long>? count) ? Interlocked.Read(ref count.Value) : 0;

    public static void Count(string status) =>
        Interlocked.Increment(ref s_counts.GetOrAdd(status, static _ => new StrongBox<long>()).Value);

    private static IEnumerable<Measurement<long>> Observe() => s_counts.Select(count => new Measurement<long>(
        Interlocked.Read(ref count.Value.Value), new KeyValuePair<string, object?>(TelemetryNames.Status, count.Key)));
}
