using System.Collections.Concurrent;
using Grpc.Core;
using HdrHistogram;

namespace RpcOverShm.Tool.Bench;

/// <summary>The outcomes of the calls of a benchmark. Thread-safe while they are recorded.</summary>
internal sealed class BenchResult
{
    private const int Digits = 3;
    private const long LongestNanoseconds = 3_600_000_000_000;

    private readonly LongConcurrentHistogram _latencies = new(1, LongestNanoseconds, Digits);
    private readonly ConcurrentDictionary<StatusCode, Failures> _failures = new();
    private IReadOnlyList<byte[]>? _first;
    private long _different;
    private long _longest;

    /// <summary>The time from the first call that is measured to the end of the last.</summary>
    public TimeSpan Elapsed { get; set; }

    /// <summary>
    /// The calls that were due by the schedule of an open loop and could not begin before its end, because as many as
    /// allowed were running.
    /// </summary>
    public long NotBegun { get; set; }

    /// <summary>The calls that ended with OK.</summary>
    public long Succeeded => _latencies.TotalCount;

    /// <summary>The calls that failed.</summary>
    public long Failed => _failures.Values.Sum(one => one.Count);

    /// <summary>The calls with other answers than the first one that ended.</summary>
    public long Different => Volatile.Read(ref _different);

    /// <summary>The statuses of the calls that failed, most frequent first.</summary>
    public IEnumerable<(StatusCode Status, long Count, string Example)> ByStatus =>
        _failures.OrderByDescending(one => one.Value.Count)
            .Select(one => (one.Key, one.Value.Count, one.Value.Example));

    /// <summary>The longest latency, in nanoseconds.</summary>
    public long Longest => Volatile.Read(ref _longest);

    /// <summary>The mean latency, in nanoseconds; 0 if no call succeeded.</summary>
    public double Mean => Succeeded == 0 ? 0 : _latencies.GetMean();

    /// <summary>Returns the latency that a percentage of the calls do not exceed, in nanoseconds.</summary>
    public long AtPercentile(double percentage) =>
        Succeeded == 0 ? 0 : Math.Min(_latencies.GetValueAtPercentile(percentage), Longest);

    /// <summary>Returns each latency that occurred, in nanoseconds with three digits, and how often.</summary>
    public IEnumerable<(long Nanoseconds, long Count)> Latencies() => Succeeded == 0
        ? []
        : _latencies.RecordedValues().Select(one => (one.ValueIteratedTo, one.CountAddedInThisIterationStep));

    /// <summary>Records a call that ended with OK.</summary>
    public void Record(TimeSpan latency, IReadOnlyList<byte[]> answers)
    {
        long nanoseconds = (long)latency.TotalNanoseconds;
        _latencies.RecordValue(Math.Clamp(nanoseconds, 1, LongestNanoseconds));
        for (long seen = Longest; nanoseconds > seen; seen = Longest)
        {
            Interlocked.CompareExchange(ref _longest, nanoseconds, seen);
        }

        IReadOnlyList<byte[]> first = Interlocked.CompareExchange(ref _first, answers, null) ?? answers;
        if (!AreSame(first, answers))
        {
            Interlocked.Increment(ref _different);
        }
    }

    /// <summary>Records a call that failed.</summary>
    public void Record(Status status) =>
        Interlocked.Increment(ref _failures.GetOrAdd(status.StatusCode, _ => new Failures(status.Detail)).Count);

    private static bool AreSame(IReadOnlyList<byte[]> left, IReadOnlyList<byte[]> right) =>
        left.Count == right.Count
        && left.Zip(right, (one, other) => one.AsSpan().SequenceEqual(other)).All(same => same);

    private sealed class Failures(string example)
    {
        public long Count;

        public string Example => example;
    }
}
