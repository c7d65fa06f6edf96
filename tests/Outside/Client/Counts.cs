using OpenTelemetry;
using OpenTelemetry.Metrics;

namespace Outside.Client;

/// <summary>Keeps the names of the metrics that were exported.</summary>
internal sealed class Counts : BaseExporter<Metric>
{
    private readonly HashSet<string> _names = [];

    public IReadOnlySet<string> Names => _names;

    public override ExportResult Export(in Batch<Metric> batch)
    {
        foreach (Metric metric in batch)
        {
            _names.Add(metric.Name);
        }

        return ExportResult.Success;
    }
}
