using OpenTelemetry.Metrics;
using OpenTelemetry.Trace;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Tests.OpenTelemetry;

public class InstrumentationTests
{
    [Test]
    public void Traces_AreThoseOfBothSources()
    {
        var builder = new Traces();

        Assert.That(builder.AddRpcOverShmInstrumentation(), Is.SameAs(builder));
        Assert.That(builder.Names, Is.EqualTo([Telemetry.ClientSource.Name, Telemetry.ServerSource.Name]));
    }

    [Test]
    public void Metrics_AreThoseOfTheMeter()
    {
        var builder = new Metrics();

        Assert.That(builder.AddRpcOverShmInstrumentation(), Is.SameAs(builder));
        Assert.That(builder.Names, Is.EqualTo([Telemetry.Meter.Name]));
    }

    [Test]
    public void Null_IsRefused()
    {
        Assert.Throws<ArgumentNullException>(() => ((TracerProviderBuilder)null!).AddRpcOverShmInstrumentation());
        Assert.Throws<ArgumentNullException>(() => ((MeterProviderBuilder)null!).AddRpcOverShmInstrumentation());
    }

    private sealed class Traces : TracerProviderBuilder
    {
        public List<string> Names { get; } = [];

        public override TracerProviderBuilder AddInstrumentation<TInstrumentation>(
            Func<TInstrumentation> instrumentationFactory) => this;

        public override TracerProviderBuilder AddSource(params string[] names)
        {
            Names.AddRange(names);
            return this;
        }

        public override TracerProviderBuilder AddLegacySource(string operationName) => this;
    }

    private sealed class Metrics : MeterProviderBuilder
    {
        public List<string> Names { get; } = [];

        public override MeterProviderBuilder AddInstrumentation<TInstrumentation>(
            Func<TInstrumentation> instrumentationFactory) => this;

        public override MeterProviderBuilder AddMeter(params string[] names)
        {
            Names.AddRange(names);
            return this;
        }
    }
}
