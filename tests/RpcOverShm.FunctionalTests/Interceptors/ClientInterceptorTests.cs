using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Interceptors;

[EveryRig]
internal sealed class ClientInterceptorTests(RigKind kind) : RigFixture(kind)
{
    [Test]
    public async Task Interceptors_WrapEveryShape_InOrder([Values] bool isOneByOne)
    {
        var seen = new List<string>();
        CallRig rig = await StartAsync(new Script());
        ClientInterceptor outer = Noting("outer", seen);
        ClientInterceptor inner = Noting("inner", seen);
        CallInvoker invoker = isOneByOne
            ? rig.Channel.Intercept(inner).Intercept(outer)
            : rig.Channel.Intercept(outer, inner);

        string wrong = await Shapes.RunAllAsync(new ScriptClient(invoker)).Bounded();

        Assert.That(wrong, Is.Empty);
        Assert.That(seen, Is.EqualTo(new[]
        {
            "outer blocking Unary", "inner blocking Unary",
            "outer unary Unary", "inner unary Unary",
            "outer server-stream ServerStream", "inner server-stream ServerStream",
            "outer client-stream ClientStream", "inner client-stream ClientStream",
            "outer duplex Duplex", "inner duplex Duplex",
        }));
    }

    [Test]
    public async Task MetadataInterceptor_MayAddMetadata()
    {
        CallRig rig = await StartAsync(new Script
        {
            Unary = (_, context) => Task.FromResult(Payloads.Of(context.RequestHeaders.GetValue("added")!)),
        });
        CallInvoker invoker = rig.Channel.Intercept(metadata =>
        {
            metadata.Add("added", "by the interceptor");
            return metadata;
        });

        Payload response = await new ScriptClient(invoker).UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        Assert.That(response.Text(), Is.EqualTo("by the interceptor"));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Interceptor_MayChangeOptionsMethodAndHost(MethodType shape)
    {
        var seen = new TaskCompletionSource<(string Method, string Host, string? Header, bool HasDeadline)>(
            TaskCreationOptions.RunContinuationsAsynchronously);
        var options = new RigOptions
        {
            ServerInterceptors =
            [
                new AroundInterceptor((context, next) =>
                {
                    seen.SetResult((
                        context.Method,
                        context.Host,
                        context.RequestHeaders.GetValue("key"),
                        context.Deadline != DateTime.MaxValue));
                    return next();
                }),
            ],
        };

        // The test disposes the call; held methods then end as cancelled and are not logged as failures.
        CallRig rig = await StartAsync(new HeldMethods().Script, options);
        Method<Payload, Payload> real = AnyCall.MethodOf(shape);
        CallInvoker invoker = rig.Channel.Intercept(new ClientInterceptor
        {
            Change = given => given.WithHeaders(new Metadata { { "key", "changed" } })
                .WithDeadline(DateTime.UtcNow.AddMinutes(5)),
            Method = real.Name,
            Host = "other.example",
        });

        using AnyCall call = AnyCall.Start(
            invoker, Script.Define(shape, "NoSuchMethod"), Payloads.Empty).Call;

        // GrpcChannel ignores the host of a call.
        string host = IsGrpcDotNet ? "localhost" : "other.example";
        Assert.That(await seen.Task.Bounded(), Is.EqualTo((real.FullName, host, "changed", true)));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Interceptor_MayGiveTheCallADeadlineOrAToken(MethodType shape)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);
        using var cancellation = new CancellationTokenSource();
        CallInvoker expiring = rig.Channel.Intercept(
            new ClientInterceptor { Change = given => given.WithDeadline(DateTime.MinValue) });
        CallInvoker cancelled = rig.Channel.Intercept(
            new ClientInterceptor { Change = given => given.WithCancellationToken(cancellation.Token) });

        RpcException late = await FailureOf(AnyCall.Start(expiring, shape).Outcome);
        using AnyCall call = AnyCall.Start(cancelled, shape);
        await held.Began.Bounded();
        await cancellation.CancelAsync();

        Assert.That(late.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That((await FailureOf(call.Outcome)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Interceptor_MayReplaceTheResponse([Values] bool isBlocking)
    {
        CallRig rig = await StartAsync(new Script());
        var interceptor = new AnsweringInterceptor(1, response => Payloads.Of($"instead of {response!.Text()}"));

        Payload answer = await UnaryAsync(rig, interceptor, "x", isBlocking);

        Assert.That(answer.Text(), Is.EqualTo("instead of x"));
    }

    [Test]
    public async Task Interceptor_MayAskTwiceOrNotAtAll([Values] bool isBlocking, [Values(0, 2)] int calls)
    {
        int handled = 0;
        CallRig rig = await StartAsync(new Script
        {
            Unary = (request, _) =>
            {
                Interlocked.Increment(ref handled);
                return Task.FromResult(request);
            },
        });
        var interceptor = new AnsweringInterceptor(calls, response => response ?? Payloads.Of("by itself"));

        Payload answer = await UnaryAsync(rig, interceptor, "x", isBlocking);

        Assert.That(answer.Text(), Is.EqualTo(calls == 0 ? "by itself" : "x"));
        Assert.That(handled, Is.EqualTo(calls));
    }

    [Test]
    public async Task Interceptor_ThatThrowsInThePlaceOfTheResponse_IsHeardByWhoAwaitsIt([Values] bool isBlocking)
    {
        CallRig rig = await StartAsync(new Script());
        var interceptor = new AnsweringInterceptor(1, _ => throw new KeyNotFoundException());

        Exception? thrown = await Thrown.InAllAsync(() => UnaryAsync(rig, interceptor, "x", isBlocking));

        Assert.That(thrown, Is.TypeOf<KeyNotFoundException>());
        Assert.That((await rig.Client.UnaryAsync(Payloads.Of("y")).ResponseAsync.Bounded()).Text(), Is.EqualTo("y"));
    }

    [Test]
    public async Task Interceptor_ThatThrows_IsHeardFromTheInvokingMethod([Values] bool isAfter)
    {
        var held = new HeldMethods();
        held.Release();
        CallRig rig = await StartAsync(held.Script);
        Action fail = () => throw new KeyNotFoundException();
        CallInvoker invoker = rig.Channel.Intercept(
            isAfter ? new ClientInterceptor { After = fail } : new ClientInterceptor { Before = (_, _) => fail() });

        foreach (MethodType shape in AnyCall.Shapes)
        {
            Exception? thrown = Thrown.By(() => AnyCall.Start(invoker, shape).Outcome);
            Assert.That(thrown, Is.TypeOf<KeyNotFoundException>(), shape.ToString());
        }

        Exception? blocking = await Thrown.InAllAsync(
            () => Timeouts.OnThread(() => new ScriptClient(invoker).Unary(Payloads.Empty)));
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        // Calls that are disposed at once may or may not have reached their methods.
        Assert.That(blocking, Is.TypeOf<KeyNotFoundException>());
        Assert.That(held.Begun, isAfter ? Is.GreaterThanOrEqualTo(2) : Is.EqualTo(1));
    }

    [Test]
    public async Task Interceptor_MayWrapTheStreams()
    {
        CallRig rig = await StartAsync(new Script());
        var client = new ScriptClient(rig.Channel.Intercept(new ShoutingInterceptor()));

        using AsyncDuplexStreamingCall<Payload, Payload> call = client.Duplex();
        await call.RequestStream.WriteAsync(Payloads.Of("one")).Bounded();
        await call.RequestStream.WriteAsync(Payloads.Of("two")).Bounded();
        await call.RequestStream.CompleteAsync().Bounded();
        List<Payload> responses = await call.ResponseStream.ToListAsync();

        Assert.That(responses.Select(response => response.Text()), Is.EqualTo(new[] { "<one!>", "<two!>" }));
        Assert.That(call.GetStatus(), Is.EqualTo(Status.DefaultSuccess));
    }

    [Test]
    public async Task Interceptor_OfAGeneratedClient_SeesItsCalls()
    {
        var seen = new List<string>();
        CallRig rig = await StartAsync(null, ConformanceContract.BindService(new ConformanceService()));
        var client = new Conformance.ConformanceClient(rig.Channel.Intercept(Noting("one", seen)));

        Payload response = await client.EchoAsync(Payloads.Of("x")).ResponseAsync.Bounded();

        Assert.That(response.Text(), Is.EqualTo("x"));
        Assert.That(seen, Is.EqualTo(new[] { "one unary Echo" }));
    }

    private static ClientInterceptor Noting(string name, List<string> notes) =>
        new() { Before = (shape, method) => notes.Add($"{name} {shape} {method}") };

    private static Task<Payload> UnaryAsync(CallRig rig, Interceptor interceptor, string request, bool isBlocking)
    {
        var client = new ScriptClient(rig.Channel.Intercept(interceptor));
        return isBlocking
            ? Timeouts.OnThread(() => client.Unary(Payloads.Of(request))).Bounded()
            : client.UnaryAsync(Payloads.Of(request)).ResponseAsync.Bounded();
    }
}
