using System.Collections.Concurrent;
using System.Diagnostics;
using OpenTelemetry;

namespace Outside.Client;

/// <summary>Keeps the names of the spans that have ended.</summary>
internal sealed class Spans : BaseProcessor<Activity>
{
    private readonly ConcurrentQueue<string> _names = new();

    public IEnumerable<string> Names => _names;

    public override void OnEnd(Activity data) => _names.Enqueue($"{data.Kind} {data.DisplayName}");
}
