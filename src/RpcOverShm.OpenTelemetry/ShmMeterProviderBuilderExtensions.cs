using RpcOverShm.Diagnostics;

namespace OpenTelemetry.Metrics;

/// <summary>Adds the metrics of RpcOverShm to OpenTelemetry.</summary>
/// <remarks>Called while the provider is being configured, on one thread. Nothing to dispose.</remarks>
public static class ShmMeterProviderBuilderExtensions
{
    /// <summary>Adds the durations of calls and the counters of this process.</summary>
    /// <param name="builder">The builder of the provider.</param>
    /// <returns>The builder, for further calls.</returns>
    /// <exception cref="ArgumentNullException">The builder is null.</exception>
    public static MeterProviderBuilder AddRpcOverShmInstrumentation(this MeterProviderBuilder builder)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder.AddMeter(TelemetryNames.Meter);
    }
}
