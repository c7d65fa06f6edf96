using OpenTelemetry;
using OpenTelemetry.Exporter;
using OpenTelemetry.Metrics;
using OpenTelemetry.Resources;
using OpenTelemetry.Trace;

namespace RpcOverShm.Samples;

/// <summary>The traces and metrics of this process, exported with OTLP until it is disposed.</summary>
internal sealed class Telemetry : IDisposable
{
    private readonly TracerProvider _traces;
    private readonly MeterProvider _metrics;

    public Telemetry(string service, string endpoint)
    {
        // snippet: providers
        ResourceBuilder resource = ResourceBuilder.CreateDefault().AddService(service);
        _traces = Sdk.CreateTracerProviderBuilder()
            .SetResourceBuilder(resource)
            .AddRpcOverShmInstrumentation()
            .AddOtlpExporter(otlp => ExportTo(otlp, $"{endpoint}v1/traces"))
            .Build();
        _metrics = Sdk.CreateMeterProviderBuilder()
            .SetResourceBuilder(resource)
            .AddRpcOverShmInstrumentation()
            .AddOtlpExporter(otlp => ExportTo(otlp, $"{endpoint}v1/metrics"))
            .Build();
        // end snippet
    }

    /// <summary>Exports what is left.</summary>
    public void Dispose()
    {
        _traces.Dispose();
        _metrics.Dispose();
    }

    private static void ExportTo(OtlpExporterOptions otlp, string address)
    {
        otlp.Endpoint = new Uri(address);
        otlp.Protocol = OtlpExportProtocol.HttpProtobuf;
    }
}
