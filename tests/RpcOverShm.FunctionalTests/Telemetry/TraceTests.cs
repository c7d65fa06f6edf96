using System.Diagnostics;
using RpcOverShm.FunctionalTests.Callbacks;

namespace RpcOverShm.FunctionalTests.Telemetry;

/// <summary>The spans of calls: their parents, which is the current one where, and none without listeners.</summary>
internal sealed class TraceTests : CallbackFixture
{
    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Call_OfEveryShape_HasASpanOnEitherSide(MethodType shape)
    {
        Activity? inside = null;
        using var recorder = new TelemetryRecorder();
        (ShmRig rig, _) = await StartAsync(
            Script.Everywhere(_ =>
            {
                inside = Activity.Current;
                return Task.CompletedTask;
            }),
            new Script());

        using var call = AnyCall.Start(rig.Invoker, shape);
        await call.Outcome.Bounded();

        Assert.That(Activity.Current, Is.Null);
        Activity[] spans = await recorder.WaitForAsync(2);
        Assert.That(spans.Select(span => span.Kind), Is.EqualTo([ActivityKind.Client, ActivityKind.Server]));
        Assert.That(spans.Select(span => span.OperationName), Is.All.EqualTo(NameOf(shape)));
        Assert.That(spans.Select(span => span.TraceId).Distinct().Count(), Is.EqualTo(1));
        Assert.That(spans[1].ParentSpanId, Is.EqualTo(spans[0].SpanId));
        Assert.That(spans[1], Is.SameAs(inside));
        Assert.That(spans[1].HasRemoteParent);
        foreach (Activity span in spans)
        {
            Assert.That(span.GetTagItem("rpc.system.name"), Is.EqualTo("rpcovershm"));
            Assert.That(span.GetTagItem("rpc.method"), Is.EqualTo(NameOf(shape)));
            Assert.That(span.GetTagItem("rpc.response.status_code"), Is.EqualTo("OK"));
            Assert.That(span.GetTagItem("server.address"), Is.EqualTo(rig.Address));
            Assert.That(span.GetTagItem("error.type"), Is.Null);
            Assert.That(span.Status, Is.EqualTo(ActivityStatusCode.Unset));
        }

        Assert.That(recorder.Started, Is.EqualTo(2));
    }

    [TestCase(true)]
    [TestCase(false)]
    public async Task Trace_RunsThroughClientServerAndCallback(bool isBlocking)
    {
        using var recorder = new TelemetryRecorder();
        Activity? inCallback = null;
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    Activity? mine = Activity.Current;
                    _ = isBlocking ? Back(context).Unary(request) : await Back(context).UnaryAsync(request);
                    Assert.That(Activity.Current, Is.SameAs(mine));
                    return request;
                },
            },
            new Script
            {
                Unary = (request, _) =>
                {
                    inCallback = Activity.Current;
                    return Task.FromResult(request);
                },
            });

        for (int i = 0; i < 10; i++)
        {
            await Timeouts.OnThread(() =>
            {
                _ = To(channel).Unary(Payloads.Of("x"));
                Assert.That(Activity.Current, Is.Null);
            }).Bounded();
        }

        await recorder.WaitForAsync(40);
        foreach (IGrouping<ActivityTraceId, Activity> trace in recorder.Ended.GroupBy(span => span.TraceId))
        {
            Activity[] chain = [.. ChainOf([.. trace])];
            Assert.That(chain.Select(span => span.Kind), Is.EqualTo(
                [ActivityKind.Client, ActivityKind.Server, ActivityKind.Client, ActivityKind.Server]));
        }

        Assert.That(inCallback?.Kind, Is.EqualTo(ActivityKind.Server));
    }

    [Test]
    public async Task Caller_KeepsItsOwnSpan_WhichIsTheParent()
    {
        using var recorder = new TelemetryRecorder();
        var held = new HeldMethods();
        (ShmRig rig, _) = await StartAsync(held.Script, new Script());
        using Activity own = new Activity("own").SetIdFormat(ActivityIdFormat.W3C).Start();
        own.TraceStateString = "vendor=1";
        own.AddBaggage("tenant", "seven");

        foreach (MethodType shape in AnyCall.Shapes)
        {
            using var call = AnyCall.Start(rig.Invoker, shape);
            Assert.That(Activity.Current, Is.SameAs(own), $"{shape} has started.");
            call.Dispose();
            Assert.That(Activity.Current, Is.SameAs(own), $"{shape} was disposed.");
        }

        held.Release();
        _ = await rig.Client.UnaryAsync(Payloads.Empty);
        _ = rig.Client.Unary(Payloads.Empty);
        Assert.That(Activity.Current, Is.SameAs(own));
        await Timeouts.Eventually(() => recorder.Ended.Count == recorder.Started && recorder.Started >= 8);
        Activity[] servers = [.. recorder.Ended.Where(span => span.Kind == ActivityKind.Server)];
        Assert.That(recorder.Ended.Select(span => span.TraceId), Is.All.EqualTo(own.TraceId));
        Assert.That(
            recorder.Ended.Except(servers).Select(span => span.ParentSpanId), Is.All.EqualTo(own.SpanId));
        Assert.That(servers, Is.Not.Empty);
        Assert.That(servers.Select(span => span.TraceStateString), Is.All.EqualTo("vendor=1"));
        Assert.That(servers.Select(span => span.GetBaggageItem("tenant")), Is.All.EqualTo("seven"));
    }

    [Test]
    public async Task Method_AfterTheListenersHaveGone_HasNoSpanAndNoContext()
    {
        var seen = new List<(Activity?, bool)>();
        (ShmRig rig, _) = await StartAsync(
            new Script
            {
                Unary = (request, context) =>
                {
                    seen.Add((Activity.Current, context.RequestHeaders.Any(one => one.Key == "traceparent")));
                    return Task.FromResult(request);
                },
            },
            new Script());
        _ = rig.Client.Unary(Payloads.Empty);
        using (var recorder = new TelemetryRecorder())
        {
            _ = rig.Client.Unary(Payloads.Empty);
            await recorder.WaitForAsync(2);
        }

        for (int i = 0; i < 20; i++)
        {
            _ = rig.Client.Unary(Payloads.Empty);
            _ = await rig.Client.UnaryAsync(Payloads.Empty);
        }

        Assert.That(seen[1].Item1, Is.Not.Null);
        Assert.That(seen[1].Item2);
        seen.RemoveAt(1);
        Assert.That(seen, Is.All.EqualTo(((Activity?)null, false)));
    }

    [Test]
    public async Task Caller_WhoseSpanIsNotSampled_HandsItsContextOn()
    {
        using var recorder = new TelemetryRecorder(ActivitySamplingResult.None);
        string? parent = null;
        (ShmRig rig, _) = await StartAsync(
            new Script
            {
                Unary = (request, context) =>
                {
                    parent = context.RequestHeaders.GetValue("traceparent");
                    return Task.FromResult(request);
                },
            },
            new Script());
        using Activity own = new Activity("own").SetIdFormat(ActivityIdFormat.W3C).Start();

        _ = await rig.Client.UnaryAsync(Payloads.Empty);

        Assert.That(parent, Is.EqualTo(own.Id));
        Assert.That(recorder.Ended, Is.Empty);
    }

    [Test]
    public async Task Caller_ThatSetsTheContextItself_IsNotOverruled()
    {
        const string Own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        using var recorder = new TelemetryRecorder();
        (ShmRig rig, _) = await StartAsync(new Script(), new Script());
        var headers = new Metadata { { "traceparent", Own } };

        _ = await rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(headers));

        Activity[] spans = await recorder.WaitForAsync(2);
        Assert.That(spans[1].ParentId, Is.EqualTo(Own));
        Assert.That(headers, Has.Count.EqualTo(1), "The metadata of the user is not changed.");
    }

    [Test]
    public async Task Method_WhoseContextIsNonsense_BeginsATrace()
    {
        using var recorder = new TelemetryRecorder();
        (ShmRig rig, _) = await StartAsync(new Script(), new Script());
        var headers = new Metadata { { "traceparent", "nonsense" }, { "baggage", "=;,=" } };

        _ = await rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(headers));

        Activity[] spans = await recorder.WaitForAsync(2);
        Assert.That(spans[1].ParentId, Is.Null);
    }

    [Test]
    public async Task Listener_ThatThrows_FailsNoCall()
    {
        using var recorder = new TelemetryRecorder(onEnded: _ => throw new InvalidOperationException("listener"));
        (ShmRig rig, _) = await StartAsync(new Script(), new Script());

        Assert.That(rig.Client.Unary(Payloads.Of("a")).Text(), Is.EqualTo("a"));
        Assert.That((await rig.Client.UnaryAsync(Payloads.Of("b"))).Text(), Is.EqualTo("b"));
        await recorder.WaitForAsync(4);
    }

    private static string NameOf(MethodType shape) => AnyCall.MethodOf(shape).FullName[1..];

    private static IEnumerable<Activity> ChainOf(Activity[] trace)
    {
        Activity? next = trace.Single(span => span.ParentSpanId == default);
        while (next is not null)
        {
            yield return next;
            next = trace.SingleOrDefault(span => span.ParentSpanId == next.SpanId);
        }
    }
}
