using System.Diagnostics;
using System.Diagnostics.Metrics;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// The sources of spans and the meter of this process. A call asks <see cref="IsClientWatched"/> or
/// <see cref="IsServerWatched"/> first, and does nothing else while nobody listens.
/// </summary>
internal static class Telemetry
{
    private static readonly string? s_version = typeof(Telemetry).Assembly.GetName().Version?.ToString(3);

    // From a microsecond to ten seconds, three for each power of ten. OpenTelemetry's own begin at five milliseconds.
    private static readonly InstrumentAdvice<double> s_durations = new()
    {
        HistogramBucketBoundaries =
        [
            1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1,
            2, 5, 10,
        ],
    };

    public static ActivitySource ClientSource { get; } = new(TelemetryNames.ClientSource, s_version);

    public static ActivitySource ServerSource { get; } = new(TelemetryNames.ServerSource, s_version);

    public static Meter Meter { get; } = new(TelemetryNames.Meter, s_version);

    public static Histogram<double> ClientDuration { get; } = Durations(
        TelemetryNames.ClientDuration, "Time of an outgoing call, with its retries and its whole streams.");

    public static Histogram<double> ServerDuration { get; } = Durations(
        TelemetryNames.ServerDuration, "Time from the start of a method to its return.");

    /// <summary>The one-way calls that have failed where they were served, by the status.</summary>
    public static TaggedCounter OneWayFailed { get; } = new(
        TelemetryNames.OneWayFailed, "{call}", "One-way calls that failed or were refused.", TelemetryNames.Status);

    /// <summary>Whether anybody wants spans or durations of outgoing calls.</summary>
    public static bool IsClientWatched => ClientSource.HasListeners() || ClientDuration.Enabled;

    /// <summary>Whether anybody wants spans or durations of methods.</summary>
    public static bool IsServerWatched => ServerSource.HasListeners() || ServerDuration.Enabled;

    private static Histogram<double> Durations(string name, string description) =>
        Meter.CreateHistogram(name, "s", description, tags: null, s_durations);
}
