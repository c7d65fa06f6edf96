using RpcOverShm.Diagnostics;

namespace OpenTelemetry.Trace;

/// <summary>Adds the traces of RpcOverShm to OpenTelemetry.</summary>
/// <remarks>Called while the provider is being configured, on one thread. Nothing to dispose.</remarks>
public static class ShmTracerProviderBuilderExtensions
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
}
