using System.Collections.Concurrent;
using System.Diagnostics;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.FunctionalTests.Telemetry;

/// <summary>A call's span and its duration end once, in each way in which a call can end.</summary>
internal sealed class SpanEndTests() : RigFixture(RigKind.Shm)
{
    private const int MethodEndedWithStatus = 300;

    private TelemetryRecorder _recorder = null!;

    [SetUp]
    public void Listen() => _recorder = new TelemetryRecorder();

    [TearDown]
    public void StopListening() => _recorder.Dispose();

    [TestCase(StatusCode.NotFound, "NOT_FOUND", false)]
    [TestCase(StatusCode.Unavailable, "UNAVAILABLE", true)]
    [TestCase((StatusCode)99, "UNKNOWN", true)]
    public async Task Failure_OfAMethod_IsOnBothSides(StatusCode code, string name, bool isServers)
    {
        CallRig rig = await StartAsync(Everywhere(_ => throw new RpcException(new Status(code, "why"))));

        Assert.Throws<RpcException>(() => rig.Client.Unary(Payloads.Empty));

        Activity[] spans = await _recorder.WaitForAsync(2);
        Assert.That(spans.Select(span => span.GetTagItem("rpc.response.status_code")), Is.All.EqualTo(name));
        Assert.That(spans[0].GetTagItem("error.type"), Is.EqualTo(name));
        Assert.That(spans[0].Status, Is.EqualTo(ActivityStatusCode.Error));
        Assert.That(spans[0].StatusDescription, Is.EqualTo("why"));
        Assert.That(spans[1].GetTagItem("error.type"), Is.EqualTo(isServers ? name : null));
        Assert.That(spans[1].Status, Is.EqualTo(isServers ? ActivityStatusCode.Error : ActivityStatusCode.Unset));
    }

    // The method succeeded, but its client has been told otherwise.
    [Test]
    public async Task Trailers_ThatCannotBeSent_AreAFailureOnBothSides()
    {
        CallRig rig = await StartAsync(Everywhere(context =>
        {
            context.ResponseTrailers.Add("large", new string('x', 64 << 10));
            return Task.CompletedTask;
        }));

        RpcException failure = Assert.Throws<RpcException>(() => rig.Client.Unary(Payloads.Empty))!;

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Activity[] spans = await _recorder.WaitForAsync(2);
        Assert.That(
            spans.Select(span => span.GetTagItem("rpc.response.status_code")), Is.All.EqualTo("RESOURCE_EXHAUSTED"));
        await Timeouts.Eventually(() => rig.Log.Of(MethodEndedWithStatus).Count == 1);
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Failure_OfEveryShape_EndsOnce(MethodType shape)
    {
        CallRig rig = await StartAsync(Everywhere(_ => throw new InvalidOperationException("meant")));
        Allow(rig);
        using var call = AnyCall.Start(rig.Invoker, shape);

        await FailureOf(call.Outcome);

        Assert.That((await ClientSpanAsync()).GetTagItem("error.type"), Is.EqualTo("UNKNOWN"));
        await EndsOnceAsync(spans: 2);
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Dispose_BeforeTheEnd_EndsAtOnce(MethodType shape)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);
        var call = AnyCall.Start(rig.Invoker, shape);
        await held.Began.Bounded();

        call.Dispose();

        Assert.That((await ClientSpanAsync()).GetTagItem("rpc.response.status_code"), Is.EqualTo("CANCELLED"));
        await FailureOf(call.Outcome);
        Activity[] spans = await EndsOnceAsync(spans: 2);
        Assert.That(spans[1].GetTagItem("rpc.response.status_code"), Is.EqualTo("CANCELLED"));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Token_EndsTheSpan(MethodType shape)
    {
        using var source = new CancellationTokenSource();
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);
        using var call = AnyCall.Start(rig.Invoker, shape, new CallOptions(cancellationToken: source.Token));
        await held.Began.Bounded();

        source.Cancel();

        Activity[] spans = await EndsOnceAsync(spans: 2);
        Assert.That(spans[0].GetTagItem("rpc.response.status_code"), Is.EqualTo("CANCELLED"));
        await FailureOf(call.Outcome);
    }

    [TestCase(true)]
    [TestCase(false)]
    public async Task Deadline_OfAStreamThatNobodyReads_EndsTheSpan(bool isDuplex)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);
        var options = new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(100));
        using IDisposable call = isDuplex
            ? rig.Client.Duplex(options)
            : rig.Client.ServerStream(Payloads.Empty, options);

        Activity span = await ClientSpanAsync();

        Assert.That(span.GetTagItem("rpc.response.status_code"), Is.EqualTo("DEADLINE_EXCEEDED"));
        Assert.That(span.Duration, Is.GreaterThanOrEqualTo(TimeSpan.FromMilliseconds(50)));
        await Timeouts.Eventually(() => _recorder.Started == _recorder.Ended.Count);
    }

    [Test]
    public async Task Deadline_OfABlockingCall_EndsTheSpan([Values] bool throwsOperationCanceled)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(
            held.Script, new RigOptions { ThrowsOperationCanceled = throwsOperationCanceled });

        Assert.Catch(() => rig.Client.Unary(
            Payloads.Empty, new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(50))));

        Assert.That(ClientSpan().GetTagItem("rpc.response.status_code"), Is.EqualTo("DEADLINE_EXCEEDED"));
        await Timeouts.Eventually(() => _recorder.Started == _recorder.Ended.Count);
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Server_ThatIsKilled_EndsTheSpans(MethodType shape)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);
        using var call = AnyCall.Start(rig.Invoker, shape);
        await held.Began.Bounded();

        await rig.KillServerAsync();

        await FailureOf(call.Outcome);
        Assert.That((await ClientSpanAsync()).GetTagItem("rpc.response.status_code"), Is.EqualTo("UNAVAILABLE"));
        Activity[] spans = await EndsOnceAsync(spans: 2);
        Assert.That(spans[1].GetTagItem("rpc.response.status_code"), Is.EqualTo("UNAVAILABLE"));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Call_ThatFindsNoServer_Ends(MethodType shape)
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var call = AnyCall.Start(rig.Invoker, shape);

        await FailureOf(call.Outcome);

        Assert.That((await ClientSpanAsync()).GetTagItem("rpc.response.status_code"), Is.EqualTo("UNAVAILABLE"));
        await EndsOnceAsync(spans: 1);
    }

    [Test]
    public async Task Call_ThatThrowsAtItsStart_Ends()
    {
        ShmRig rig = await StartShmAsync(new Script());
        CallInvoker invoker = rig.Invoker;
        var late = new CallOptions(deadline: DateTime.Now);

        Assert.Throws<InvalidOperationException>(() => new ScriptClient(invoker).Unary(Payloads.Empty, late));
        Assert.Throws<InvalidOperationException>(() => new ScriptClient(invoker).UnaryAsync(Payloads.Empty, late));
        await rig.ShutDownChannelAsync();
        Assert.Throws<ObjectDisposedException>(() => new ScriptClient(invoker).ServerStream(Payloads.Empty));

        Assert.That(Activity.Current, Is.Null);
        Assert.That(
            _recorder.Ended.Select(span => span.GetTagItem("error.type")),
            Is.EqualTo(
            [
                typeof(InvalidOperationException).FullName, typeof(InvalidOperationException).FullName,
                typeof(ObjectDisposedException).FullName,
            ]));
        Assert.That(_recorder.Ended.Select(span => span.GetTagItem("rpc.response.status_code")), Is.All.Null);
    }

    [Test]
    public async Task Misuse_OfAReader_DoesNotEndTheSpan()
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);
        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Task<bool> read = call.ResponseStream.MoveNext(CancellationToken.None);

        Assert.ThrowsAsync<InvalidOperationException>(
            () => call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        Assert.That(_recorder.Ended, Is.Empty);
        held.Release();
        Assert.That(await read.Bounded(), Is.False);

        Assert.That((await ClientSpanAsync()).GetTagItem("rpc.response.status_code"), Is.EqualTo("OK"));
        await EndsOnceAsync(spans: 2);
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Attempts_OfARetriedCall_AreUnderOneSpan(MethodType shape)
    {
        int attempts = 0;
        CallRig rig = await StartAsync(
            Everywhere(_ => Interlocked.Increment(ref attempts) < 3
                ? throw new RpcException(new Status(StatusCode.Unavailable, "not yet"))
                : Task.CompletedTask),
            new RigOptions { Retries = new RigRetries(4, StatusCode.Unavailable) });

        using var call = AnyCall.Start(rig.Invoker, shape);
        await call.Outcome.Bounded();

        Activity[] spans = await EndsOnceAsync(spans: 4);
        Assert.That(spans.Count(span => span.Kind == ActivityKind.Client), Is.EqualTo(1));
        Assert.That(spans[0].GetTagItem("rpc.response.status_code"), Is.EqualTo("OK"));
        Assert.That(spans.Skip(1).Select(span => span.ParentSpanId), Is.All.EqualTo(spans[0].SpanId));
    }

    // A listener is user code. Under the reader role its own call would not be allowed to wait.
    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Listener_MayCallTheServer_AtTheEndOfACall(MethodType shape)
    {
        await CallInListenersAsync(invoker => AnyCall.Start(invoker, shape));
    }

    [TestCase(true)]
    [TestCase(false)]
    public async Task Listener_MayCallTheServer_AtTheEndOfAStreamThatNobodyReads(bool isDuplex)
    {
        await CallInListenersAsync(invoker => isDuplex
            ? new ScriptClient(invoker).Duplex()
            : new ScriptClient(invoker).ServerStream(Payloads.Empty));
    }

    [Test]
    public async Task Calls_OfABatch_HaveSpans()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using ShmCallBatch batch = rig.ShmChannel.CreateBatch();
        var client = new ScriptClient(batch.CallInvoker);
        AsyncUnaryCall<Payload>[] calls = [.. Enumerable.Range(0, 5).Select(_ => client.UnaryAsync(Payloads.Empty))];

        await batch.SendAsync();
        await Task.WhenAll(calls.Select(call => call.ResponseAsync)).Bounded();

        await EndsOnceAsync(spans: 10);
    }

    /// <summary>Makes calls that fail, whose listener makes a blocking call at the end of each.</summary>
    private async Task CallInListenersAsync(Func<CallInvoker, IDisposable> start)
    {
        const int Calls = 20;
        const string InListener = "in-listener";
        var answers = new ConcurrentQueue<string>();
        CallRig rig = await StartAsync(Everywhere(context => context.RequestHeaders.GetValue(InListener) is null
            ? throw new RpcException(new Status(StatusCode.NotFound, "meant"))
            : Task.CompletedTask));
        using var caller = new TelemetryRecorder(onEnded: span =>
        {
            if (span.Kind == ActivityKind.Client && span.Status == ActivityStatusCode.Error)
            {
                var options = new CallOptions(new Metadata { { InListener, "yes" } });
                answers.Enqueue(rig.Client.Unary(Payloads.Of("inside"), options).Text());
            }
        });

        for (int i = 1; i <= Calls; i++)
        {
            using IDisposable call = start(rig.Invoker);
            await Timeouts.Eventually(() => answers.Count == i, "the listener has its answer");
        }

        Assert.That(answers, Is.All.EqualTo("inside"));
        await Timeouts.Eventually(() => _recorder.Started == _recorder.Ended.Count);
    }

    // The methods of a test throw on purpose.
    private static void Allow(CallRig rig) => rig.Log.Expect(301);

    // Two threads may end the span of a stream at the same time, and the user's may go on before the other's is done.
    private async Task<Activity> ClientSpanAsync()
    {
        await Timeouts.Eventually(() => _recorder.Ended.Any(span => span.Kind == ActivityKind.Client));
        return ClientSpan();
    }

    private Activity ClientSpan() => _recorder.Ended.Single(span => span.Kind == ActivityKind.Client);

    /// <summary>Waits for the spans. Checks that there are as many durations, each with its span's status.</summary>
    private async Task<Activity[]> EndsOnceAsync(int spans)
    {
        Activity[] ended = await _recorder.WaitForAsync(spans);
        await Timeouts.Eventually(() => _recorder.Durations.Count == spans);
        Assert.That(ended, Has.Length.EqualTo(spans));
        Assert.That(_recorder.Started, Is.EqualTo(spans));
        Assert.That(
            _recorder.Durations.Select(one => $"{one.Name == TelemetryNames.ServerDuration} {one.Status} {one.Error}"),
            Is.EquivalentTo(ended.Select(span =>
                $"{span.Kind == ActivityKind.Server} {span.GetTagItem("rpc.response.status_code")} "
                + $"{span.GetTagItem("error.type")}")));
        return ended;
    }
}
