using OpenTelemetry;
using OpenTelemetry.Metrics;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.FunctionalTests.Telemetry;

/// <summary>The metrics arrive at an exporter of OpenTelemetry.</summary>
internal sealed class ExportTests() : RigFixture(RigKind.Shm)
{
    private const int Calls = 7;

    private readonly List<Metric> _exported = [];

    [Test]
    public async Task Instruments_OfTheMeter_AllArriveWithTheirCounts()
    {
        _exported.Clear();
        using MeterProvider provider = Sdk.CreateMeterProviderBuilder()
            .AddRpcOverShmInstrumentation()
            .AddInMemoryExporter(_exported)
            .Build();
        ShmRig rig = await StartShmAsync(new Script(), new RigOptions { ServerMaxReceive = 1000 });
        for (int i = 0; i < Calls; i++)
        {
            _ = await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        }

        await ReachALimitAsync(rig);

        // The server records a call after it has answered.
        await Timeouts.Eventually(() =>
        {
            _exported.Clear();
            provider.ForceFlush();
            return CountOf(TelemetryNames.ServerDuration, "OK") == Calls;
        });

        Assert.That(_exported.Select(metric => metric.Name), Is.EquivalentTo(Instruments()));
        Assert.That(_exported.Select(metric => metric.MeterName), Is.All.EqualTo(TelemetryNames.Meter));
        Assert.That(CountOf(TelemetryNames.ClientDuration, "OK"), Is.EqualTo(Calls));
        Assert.That(CountOf(TelemetryNames.ServerDuration, "OK"), Is.EqualTo(Calls));
    }

    private static string[] Instruments() =>
    [
        .. typeof(TelemetryNames).GetFields().Select(field => (string)field.GetRawConstantValue()!)
            .Where(name => name.StartsWith("rpcovershm.", StringComparison.Ordinal)
                || name.EndsWith(".duration", StringComparison.Ordinal)),
    ];

    /// <summary>
    /// Makes a one-way call that is refused. The instrument of limits begins with such a call.
    /// </summary>
    private static async Task ReachALimitAsync(ShmRig rig)
    {
        var failed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var client = new ScriptClient(rig.ShmChannel.CreateOneWayInvoker((_, _) => failed.SetResult()));
        _ = await client.UnaryAsync(Payloads.OfSize(2000)).ResponseAsync.Bounded();
        await failed.Task.Bounded();
    }

    private long CountOf(string histogram, string status)
    {
        long count = 0;
        foreach (ref readonly MetricPoint point in _exported.Single(one => one.Name == histogram).GetMetricPoints())
        {
            foreach (KeyValuePair<string, object?> tag in point.Tags)
            {
                count += tag.Key == TelemetryNames.StatusCode && Equals(tag.Value, status)
                    ? point.GetHistogramCount()
                    : 0;
            }
        }

        return count;
    }
}
