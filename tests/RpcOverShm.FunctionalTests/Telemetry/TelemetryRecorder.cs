using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.FunctionalTests.Telemetry;

/// <summary>Listens to all spans and metrics of the library until it is disposed, and keeps them.</summary>
internal sealed class TelemetryRecorder : IDisposable
{
    private readonly ActivityListener _traces;
    private readonly MeterListener _metrics = new();
    private readonly ConcurrentQueue<Activity> _ended = new();
    private readonly ConcurrentQueue<Duration> _durations = new();
    private readonly ConcurrentBag<Reading> _readings = [];
    private int _started;

    /// <summary>Begins to listen.</summary>
    /// <param name="sampled">Whether spans are made.</param>
    /// <param name="onEnded">What the listener does besides at the end of a span; null for nothing.</param>
    public TelemetryRecorder(
        ActivitySamplingResult sampled = ActivitySamplingResult.AllData, Action<Activity>? onEnded = null)
    {
        _traces = new ActivityListener
        {
            ShouldListenTo = source => source.Name is TelemetryNames.ClientSource or TelemetryNames.ServerSource,
            Sample = (ref ActivityCreationOptions<ActivityContext> _) => sampled,
            ActivityStarted = _ => Interlocked.Increment(ref _started),
            ActivityStopped = activity =>
            {
                _ended.Enqueue(activity);
                onEnded?.Invoke(activity);
            },
        };
        ActivitySource.AddActivityListener(_traces);
        _metrics.InstrumentPublished = (instrument, listener) =>
        {
            if (instrument.Meter.Name == TelemetryNames.Meter)
            {
                listener.EnableMeasurementEvents(instrument);
            }
        };
        _metrics.SetMeasurementEventCallback<double>((instrument, seconds, tags, _) =>
            _durations.Enqueue(
                new Duration(instrument.Name, seconds, new Dictionary<string, object?>(tags.ToArray()))));
        _metrics.SetMeasurementEventCallback<long>((instrument, value, tags, _) =>
            _readings.Add(
                new Reading(instrument.Name, value, string.Join(',', tags.ToArray().Select(tag => tag.Value)))));
        _metrics.Start();
    }

    /// <summary>The number of spans that have begun.</summary>
    public int Started => Volatile.Read(ref _started);

    /// <summary>The spans that have ended, the first one first.</summary>
    public IReadOnlyList<Activity> Ended => [.. _ended];

    /// <summary>The measured durations.</summary>
    public IReadOnlyList<Duration> Durations => [.. _durations];

    /// <summary>Waits until so many spans have ended. Returns them: clients first, the earliest first.</summary>
    public async Task<Activity[]> WaitForAsync(int count)
    {
        await Timeouts.Eventually(() => _ended.Count >= count, $"{count} spans have ended");
        return [.. _ended.OrderBy(activity => activity.Kind == ActivityKind.Server).ThenBy(one => one.StartTimeUtc)];
    }

    /// <summary>Reads a counter now.</summary>
    /// <param name="name">The name of the instrument.</param>
    /// <param name="tag">The value of its tag; empty for all.</param>
    public long Read(string name, string tag = "")
    {
        _readings.Clear();
        _metrics.RecordObservableInstruments();
        return _readings.Where(one => one.Name == name && (tag.Length == 0 || one.Tag == tag)).Sum(one => one.Value);
    }

    public void Dispose()
    {
        _traces.Dispose();
        _metrics.Dispose();
    }

    private sealed record Reading(string Name, long Value, string Tag);
}

/// <summary>A measured duration.</summary>
internal sealed record Duration(string Name, double Seconds, IReadOnlyDictionary<string, object?> Tags)
{
    public string Method => (string)Tags[TelemetryNames.Method]!;

    /// <summary>The name of the status; null for a call that was not started.</summary>
    public string? Status => (string?)Tags.GetValueOrDefault(TelemetryNames.StatusCode);

    /// <summary>The kind of the error; null for a success.</summary>
    public string? Error => (string?)Tags.GetValueOrDefault(TelemetryNames.ErrorType);
}
