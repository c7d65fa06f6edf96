using System.Diagnostics.Metrics;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// Listens to all spans and metrics of the product in this process, and drops them: what remains is the product's own
/// cost and that of the runtime.
/// </summary>
internal static class TelemetryListeners
{
    private static readonly Lazy<(ActivityListener, MeterListener)> s_all = new(Start);

    /// <summary>Begins to listen, once for the process.</summary>
    public static void Ensure() => _ = s_all.Value;

    private static (ActivityListener Traces, MeterListener Metrics) Start()
    {
        var traces = new ActivityListener
        {
            ShouldListenTo = static source => source.Name is "RpcOverShm.Client" or "RpcOverShm.Server",
            Sample = static (ref ActivityCreationOptions<ActivityContext> _) =>
                ActivitySamplingResult.AllDataAndRecorded,
        };
        ActivitySource.AddActivityListener(traces);
        var metrics = new MeterListener
        {
            InstrumentPublished = static (instrument, listener) =>
            {
                if (instrument.Meter.Name == "RpcOverShm")
                {
                    listener.EnableMeasurementEvents(instrument);
                }
            },
        };
        metrics.SetMeasurementEventCallback<double>(static (_, _, _, _) => { });
        metrics.Start();
        return (traces, metrics);
    }
}
