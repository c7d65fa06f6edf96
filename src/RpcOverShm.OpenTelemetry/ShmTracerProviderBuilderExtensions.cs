using OpenTelemetry.Context.Propagation;
using RpcOverShm.Diagnostics;
using RpcOverShm.OpenTelemetry;

namespace OpenTelemetry.Trace;

/// <summary>Adds the traces of RpcOverShm to OpenTelemetry.</summary>
/// <remarks>Called while the provider is being configured, on one thread. Nothing to dispose.</remarks>
public static class ShmTracerProviderBuilderExtensions
{
    /// <summary>
    /// Adds the spans of outgoing calls and of methods, callbacks included. Calls then carry what
    /// <see cref="Propagators.DefaultTextMapPropagator"/> writes: the trace context in its headers, and
    /// <see cref="Baggage.Current"/>, which is that of the method too.
    /// </summary>
    /// <remarks>One provider of the process with it is enough, until the last such provider is disposed.</remarks>
    /// <param name="builder">The builder of the provider.</param>
    /// <returns>The builder, for further calls.</returns>
    /// <exception cref="ArgumentNullException">The builder is null.</exception>
    public static TracerProviderBuilder AddRpcOverShmInstrumentation(this TracerProviderBuilder builder)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder
            .AddSource(TelemetryNames.ClientSource, TelemetryNames.ServerSource)
            .AddInstrumentation(static () => new OpenTelemetryPropagation());
    }
}
