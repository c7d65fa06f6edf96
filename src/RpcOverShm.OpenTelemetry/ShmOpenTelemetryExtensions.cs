using OpenTelemetry.Metrics;
using OpenTelemetry.Trace;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.OpenTelemetry;

/// <summary>Extensions that add the traces and metrics of RpcOverShm to OpenTelemetry.</summary>
/// <remarks>Call them while the provider is being configured, on one thread. Nothing to dispose.</remarks>
public static class ShmOpenTelemetryExtensions
{
    /// <summary>Adds the spans of outgoing calls and of methods, callbacks included.</summary>
    /// <param name="builder">The builder of the provider.</param>
    /// <returns>The builder, for further calls.</returns>
    /// <exception cref="ArgumentNullException">The builder is null.</exception>
    public static TracerProviderBuilder AddRpcOverShmInstrumentation(this TracerProviderBuilder builder)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder.AddSource(TelemetryNames.ClientSource, TelemetryNames.ServerSource);
    }

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
