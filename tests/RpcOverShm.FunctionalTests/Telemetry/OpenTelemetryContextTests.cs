using System.Diagnostics;
using OpenTelemetry;
using OpenTelemetry.Context.Propagation;
using OpenTelemetry.Trace;
using Status = Grpc.Core.Status;
using StatusCode = Grpc.Core.StatusCode;

namespace RpcOverShm.FunctionalTests.Telemetry;

/// <summary>
/// The context that OpenTelemetry carries from the code that makes a call to its method: the baggage, and the trace in
/// the headers of the program's propagator. As with its instrumentation of grpc-dotnet.
/// </summary>
[EveryRig]
[NotOn(RigKind.GrpcCore, "OpenTelemetry has no instrumentation for it.")]
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class OpenTelemetryContextTests(RigKind kind) : RigFixture(kind)
{
    private const string Tenant = "seven & more, ü";

    private readonly List<string?> _tenants = [];
    private readonly List<Activity?> _spans = [];
    private readonly TextMapPropagator _usual = UsualPropagator();
    private TracerProvider? _provider;
    private Metadata _headers = Metadata.Empty;

    [SetUp]
    public void BuildProvider() => _provider = Instrument(Sdk.CreateTracerProviderBuilder()).Build();

    [TearDown]
    public void RestoreOpenTelemetry()
    {
        Sdk.SetDefaultTextMapPropagator(_usual);
        _provider?.Dispose();
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Baggage_OfTheCaller_IsThatOfItsMethodAndOfNoOther(MethodType shape)
    {
        CallRig rig = await StartAsync();

        Baggage.SetBaggage("tenant", Tenant);
        await CallAsync(rig, shape);
        Baggage.ClearBaggage();
        for (int i = 0; i < 10; i++)
        {
            await CallAsync(rig, shape);
        }

        Assert.That(_tenants, Is.EqualTo((string?[])[Tenant, .. Enumerable.Repeat<string?>(null, 10)]));
    }

    [Test]
    public async Task Baggage_OfABlockingCaller_IsThatOfItsMethod()
    {
        CallRig rig = await StartAsync();

        await Timeouts.OnThread(() =>
        {
            Baggage.SetBaggage("tenant", Tenant);
            _ = rig.Client.Unary(Payloads.Empty);
            Assert.That(Baggage.GetBaggage("tenant"), Is.EqualTo(Tenant), "It stays the caller's.");
        }).Bounded();

        Assert.That(_tenants, Is.EqualTo([Tenant]));
    }

    [Test]
    public async Task Baggage_OfARetriedCall_ComesWithEveryAttempt()
    {
        CallRig rig = await StartAsync(
            failures: 2,
            new RigOptions
            {
                Retries = new RigRetries(3, StatusCode.Unavailable) { Backoff = TimeSpan.FromMilliseconds(1) },
            });

        Baggage.SetBaggage("tenant", Tenant);
        await CallAsync(rig, MethodType.Unary);
        Baggage.ClearBaggage();

        Assert.That(_tenants, Is.EqualTo([Tenant, Tenant, Tenant]));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Propagator_OfTheProgram_CarriesTheTrace(MethodType shape)
    {
        Sdk.SetDefaultTextMapPropagator(Zipkin());
        CallRig rig = await StartAsync();
        using Activity own = new Activity("own").SetIdFormat(ActivityIdFormat.W3C).Start();

        await CallAsync(rig, shape);

        Assert.That(_headers.GetValue("x-b3-traceid"), Is.EqualTo(own.TraceId.ToHexString()));
        Assert.That(_spans.Single()?.TraceId, Is.EqualTo(own.TraceId));
        if (IsShm)
        {
            // Kestrel's own span, which goes by traceparent, stands between.
            Assert.That(_headers.GetValue("x-b3-spanid"), Is.EqualTo(_spans.Single()!.ParentSpanId.ToHexString()));
        }
    }

    private TracerProviderBuilder Instrument(TracerProviderBuilder builder) => IsShm
        ? builder.AddRpcOverShmInstrumentation()
        : builder.AddAspNetCoreInstrumentation().AddHttpClientInstrumentation().AddGrpcClientInstrumentation();

    // The SDK sets it when it is first used.
    private static TextMapPropagator UsualPropagator()
    {
        _ = Sdk.SuppressInstrumentation;
        return Propagators.DefaultTextMapPropagator;
    }

#pragma warning disable CS0618 // Its successor is a package of its own.
    private static B3Propagator Zipkin() => new();
#pragma warning restore CS0618

    private Task<CallRig> StartAsync(int failures = 0, RigOptions? options = null) => StartAsync(
        Script.Everywhere(context =>
        {
            lock (_tenants)
            {
                _tenants.Add(Baggage.GetBaggage("tenant"));
                _spans.Add(Activity.Current);
                _headers = context.RequestHeaders;
                return _tenants.Count > failures
                    ? Task.CompletedTask
                    : throw new RpcException(new Status(StatusCode.Unavailable, "again"));
            }
        }),
        options);

    private static async Task CallAsync(CallRig rig, MethodType shape)
    {
        using var call = AnyCall.Start(rig.Invoker, shape);
        await call.Outcome.Bounded();
    }
}
