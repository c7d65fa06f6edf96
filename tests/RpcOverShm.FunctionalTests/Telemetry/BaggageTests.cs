using System.Diagnostics;
using OpenTelemetry;
using OpenTelemetry.Context.Propagation;
using OpenTelemetry.Trace;
using RpcOverShm.FunctionalTests.Callbacks;

namespace RpcOverShm.FunctionalTests.Telemetry;

/// <summary>
/// OpenTelemetry's baggage in the calls that only this library has: callbacks, batches and one-way calls; and whether
/// anything is carried without a provider.
/// </summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class BaggageTests : CallbackFixture
{
    private readonly List<string?> _tenants = [];

    [TearDown]
    public void ClearBaggage() => Baggage.ClearBaggage();

    [TestCase(true)]
    [TestCase(false)]
    public async Task Callback_CarriesTheBaggageOfItsMethod(bool isBlocking)
    {
        using TracerProvider provider = Build();
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    Baggage.SetBaggage("tenant", $"{Baggage.GetBaggage("tenant")} and back");
                    return isBlocking ? Back(context).Unary(request) : await Back(context).UnaryAsync(request);
                },
            },
            NoteTenant());

        await Timeouts.OnThread(() =>
        {
            Baggage.SetBaggage("tenant", "there");
            _ = To(channel).Unary(Payloads.Empty);
            Assert.That(Baggage.GetBaggage("tenant"), Is.EqualTo("there"), "It is not the caller's.");
        }).Bounded();

        Assert.That(_tenants, Is.EqualTo(["there and back"]));
    }

    [Test]
    public async Task CallOfABatch_CarriesTheBaggageOfItsCaller()
    {
        using TracerProvider provider = Build();
        ShmRig rig = await StartShmAsync(NoteTenant());
        using ShmCallBatch batch = rig.ShmChannel.CreateBatch();
        var client = new ScriptClient(batch.CallInvoker);

        Task[] calls = [.. new[] { "one", "two" }.Select(tenant =>
        {
            Baggage.SetBaggage("tenant", tenant);
            return client.UnaryAsync(Payloads.Empty).ResponseAsync;
        })];
        await batch.SendAsync().Bounded();
        await Task.WhenAll(calls).Bounded();

        Assert.That(_tenants, Is.EquivalentTo(["one", "two"]));
    }

    [TestCase(true)]
    [TestCase(false)]
    public async Task OneWayCall_CarriesTheContextOfItsCaller(bool isBlocking)
    {
        using TracerProvider provider = Build();
        Activity? inside = null;
        var ran = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = (request, _) =>
            {
                _tenants.Add(Baggage.GetBaggage("tenant"));
                inside = Activity.Current;
                ran.SetResult();
                return Task.FromResult(request);
            },
        });
        var client = new ScriptClient(rig.ShmChannel.CreateOneWayInvoker());
        using Activity own = new Activity("own").SetIdFormat(ActivityIdFormat.W3C).Start();
        Baggage.SetBaggage("tenant", "seven");

        _ = isBlocking ? client.Unary(Payloads.Empty) : await client.UnaryAsync(Payloads.Empty);
        await ran.Task.Bounded();

        Assert.That(_tenants, Is.EqualTo(["seven"]));
        Assert.That(inside?.ParentId, Is.EqualTo(own.Id));
    }

    [Test]
    public async Task Call_WithoutAProvider_CarriesNoBaggage()
    {
        using var recorder = new TelemetryRecorder();
        ShmRig rig = await StartShmAsync(NoteTenant());
        TracerProvider first = Build();
        TracerProvider second = Build();
        Baggage.SetBaggage("tenant", "seven");

        first.Dispose();
        first.Dispose();
        _ = await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        second.Dispose();
        _ = await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        Assert.That(_tenants, Is.EqualTo((string?[])["seven", null]));
    }

    [Test]
    public async Task Propagator_ThatThrows_FailsNoCallAndLeavesTheTrace()
    {
        using var recorder = new TelemetryRecorder();
        using TracerProvider provider = Build();
        TextMapPropagator usual = Propagators.DefaultTextMapPropagator;
        Sdk.SetDefaultTextMapPropagator(new ThrowingPropagator());
        try
        {
            ShmRig rig = await StartShmAsync(NoteTenant());
            _ = await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        }
        finally
        {
            Sdk.SetDefaultTextMapPropagator(usual);
        }

        Activity[] spans = await recorder.WaitForAsync(2);
        Assert.That(spans[1].ParentSpanId, Is.EqualTo(spans[0].SpanId));
    }

    private static TracerProvider Build() =>
        Sdk.CreateTracerProviderBuilder().AddRpcOverShmInstrumentation().Build();

    private Script NoteTenant() => Script.Everywhere(_ =>
    {
        lock (_tenants)
        {
            _tenants.Add(Baggage.GetBaggage("tenant"));
        }

        return Task.CompletedTask;
    });

    private sealed class ThrowingPropagator : TextMapPropagator
    {
        public override ISet<string> Fields => new HashSet<string>();

        public override PropagationContext Extract<T>(
            PropagationContext context, T carrier, Func<T, string, IEnumerable<string>?> getter) =>
            throw new InvalidOperationException("propagator");

        public override void Inject<T>(PropagationContext context, T carrier, Action<T, string, string> setter) =>
            throw new InvalidOperationException("propagator");
    }
}
