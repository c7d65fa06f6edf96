using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Interceptors;

[EveryRig]
internal sealed class ServerInterceptorTests(RigKind kind) : RigFixture(kind)
{
    private const int MethodThrew = 301;

    [Test]
    public async Task Interceptors_WrapEveryShape_InOrder()
    {
        var seen = new List<string>();
        CallRig rig = await StartAsync(
            new Script(), With(AroundInterceptor.Noting("outer", seen), AroundInterceptor.Noting("inner", seen)));

        string wrong = await Shapes.RunAllAsync(rig.Client).Bounded();

        // The shapes begin with two unary calls, a blocking and an awaited one.
        string[] methods = ["Unary", "Unary", "ServerStream", "ClientStream", "Duplex"];
        Assert.That(wrong, Is.Empty);
        Assert.That(
            seen,
            Is.EqualTo(methods.SelectMany(method => new[]
            {
                $"outer /rpcovershm.testing.Script/{method}",
                $"inner /rpcovershm.testing.Script/{method}",
            })));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Interceptor_SeesTheWholeContext(MethodType shape)
    {
        var seen = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        string? method = null;
        string? host = null;
        string? peer = null;
        string? header = null;
        DateTime until = default;
        Status status = Status.DefaultCancelled;
        bool isCancellable = false;

        // The test disposes the call; held methods then end as cancelled and are not logged as failures.
        CallRig rig = await StartAsync(new HeldMethods().Script, With(new AroundInterceptor((context, next) =>
        {
            // Read here, because Grpc.Core's context ends with its call.
            (method, host, peer) = (context.Method, context.Host, context.Peer);
            (until, status) = (context.Deadline, context.Status);
            header = context.RequestHeaders.GetValue("key");
            isCancellable = context.CancellationToken.CanBeCanceled;
            seen.SetResult();
            return next();
        })));
        DateTime deadline = DateTime.UtcNow.AddMinutes(5);

        using AnyCall call = AnyCall.Start(
            rig.Invoker, shape, new CallOptions(new Metadata { { "key", "value" } }, deadline));
        await seen.Task.Bounded();

        Assert.That(method, Is.EqualTo(AnyCall.MethodOf(shape).FullName));
        Assert.That(host, IsDotNet ? Is.EqualTo("localhost") : Does.StartWith("127.0.0.1:"));
        Assert.That(
            peer,
            IsShm ? Is.EqualTo($"shm:pid={Environment.ProcessId};session=1")
            : IsDotNet ? Does.StartWith("unknown") : Does.StartWith("ipv4:127.0.0.1:"));
        Assert.That((until - deadline).Duration(), Is.LessThan(TimeSpan.FromMinutes(1)));
        Assert.That(header, Is.EqualTo("value"));
        Assert.That(status.StatusCode, Is.EqualTo(StatusCode.OK));
        Assert.That(isCancellable);
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Interceptor_SeesTheStatusAndTrailersThatTheMethodHasSet(MethodType shape)
    {
        var seen = new TaskCompletionSource<(Status Status, string? Trailer)>();
        Func<ServerCallContext, Task> method = context =>
        {
            context.Status = new Status(StatusCode.FailedPrecondition, "set");
            context.ResponseTrailers.Add("trailer", "too");
            return Task.CompletedTask;
        };
        CallRig rig = await StartAsync(Everywhere(method), With(new AroundInterceptor(async (context, next) =>
        {
            await next();
            seen.SetResult((context.Status, context.ResponseTrailers.GetValue("trailer")));
        })));

        RpcException failure = await FailureOf(AnyCall.Start(rig.Invoker, shape).Outcome);

        var expected = new Status(StatusCode.FailedPrecondition, "set");
        (Status status, string? trailer) = await seen.Task.Bounded();
        Assert.That(status, Is.EqualTo(expected));
        Assert.That(trailer, Is.EqualTo("too"));
        Assert.That(failure.Status.Plain(), Is.EqualTo(expected));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Interceptor_MayRefuse(MethodType shape)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(
            held.Script,
            With(new AroundInterceptor(
                (_, _) => throw new RpcException(new Status(StatusCode.PermissionDenied, "not you")))));

        RpcException failure = await FailureOf(AnyCall.Start(rig.Invoker, shape).Outcome);

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.PermissionDenied, "not you")));
        Assert.That(held.Begun, Is.Zero);
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Interceptor_MayTranslateExceptions(MethodType shape)
    {
        CallRig rig = await StartAsync(
            Everywhere(_ => throw new KeyNotFoundException("which")),
            With(new AroundInterceptor(async (_, next) =>
            {
                try
                {
                    await next();
                }
                catch (KeyNotFoundException exception)
                {
                    throw new RpcException(
                        new Status(StatusCode.NotFound, exception.Message), new Metadata { { "why", "translated" } });
                }
            })));

        RpcException failure = await FailureOf(AnyCall.Start(rig.Invoker, shape).Outcome);

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.NotFound, "which")));
        Assert.That(failure.Trailers.GetValue("why"), Is.EqualTo("translated"));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Interceptor_MayTurnAFailureIntoASuccess(MethodType shape)
    {
        CallRig rig = await StartAsync(
            Everywhere(_ => throw new KeyNotFoundException()),
            With(new AroundInterceptor((_, next) => Thrown.InAllAsync(next))));

        AnyCall call = AnyCall.Start(rig.Invoker, shape);
        await call.Outcome.Bounded();

        Assert.That(call.Status, Is.EqualTo(Status.DefaultSuccess));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Interceptor_ThatThrows_BehindTheMethodToo_IsUnknown(MethodType shape)
    {
        CallRig rig = await StartAsync(
            Everywhere(_ => Task.CompletedTask),
            With(new AroundInterceptor(async (_, next) =>
            {
                await next();
                throw new InvalidOperationException("secret");
            })));
        rig.Log.Expect(MethodThrew);

        RpcException failure = await FailureOf(AnyCall.Start(rig.Invoker, shape).Outcome);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unknown));
        Assert.That(failure.Status.Detail, Does.Not.Contain("secret"));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Interceptor_MaySendHeadersAndAddTrailers(MethodType shape)
    {
        CallRig rig = await StartAsync(
            Everywhere(_ => Task.CompletedTask),
            With(new AroundInterceptor(async (context, next) =>
            {
                await context.WriteResponseHeadersAsync(new Metadata { { "header", "sent" } });
                await next();
                context.ResponseTrailers.Add("trailer", "added");
            })));

        AnyCall call = AnyCall.Start(rig.Invoker, shape);
        await call.Outcome.Bounded();

        Assert.That((await call.Headers.Bounded()).GetValue("header"), Is.EqualTo("sent"));
        Assert.That(call.Trailers.GetValue("trailer"), Is.EqualTo("added"));
    }

    [Test]
    public async Task Interceptor_MayWrapTheStreams()
    {
        CallRig rig = await StartAsync(new Script(), With(new ShoutingInterceptor()));

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        await call.RequestStream.WriteAsync(Payloads.Of("one")).Bounded();
        await call.RequestStream.WriteAsync(Payloads.Of("two")).Bounded();
        await call.RequestStream.CompleteAsync().Bounded();
        List<Payload> responses = await call.ResponseStream.ToListAsync();

        Assert.That(responses.Select(response => response.Text()), Is.EqualTo(new[] { "<one>!", "<two>!" }));
    }

    [Test]
    public async Task Interceptor_IsToldOfTheCancel()
    {
        var fired = new TaskCompletionSource();
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script, With(new AroundInterceptor((context, next) =>
        {
            context.CancellationToken.Register(fired.SetResult);
            return next();
        })));

        AnyCall call = AnyCall.Start(rig.Invoker, MethodType.Unary);
        await held.Began.Bounded();
        call.Dispose();

        await fired.Task.Bounded();
        Assert.That((await FailureOf(call.Outcome)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    private static RigOptions With(params Interceptor[] interceptors) => new() { ServerInterceptors = interceptors };
}
