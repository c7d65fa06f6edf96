using Google.Protobuf.WellKnownTypes;
using Google.Rpc;
using Grpc.Core.Interceptors;
using RpcOverShm.Protobuf;
using Status = Grpc.Core.Status;

namespace RpcOverShm.FunctionalTests.Faults;

/// <summary>Exceptions of methods that become typed exceptions at the client, over every transport.</summary>
[EveryRig]
internal sealed class FaultTests(RigKind kind) : RigFixture(kind)
{
    private const int MethodThrew = 301;

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task MappedException_InEveryShape_ArrivesTyped(MethodType shape)
    {
        CallInvoker invoker = await StartAsync(context =>
        {
            context.ResponseTrailers.Add("of-the-method", "kept");
            throw new OrderMissingException("o-7", "no such order");
        });

        using AnyCall call = AnyCall.Start(invoker, shape);
        var typed = await FaultOf<OrderMissingException>(call.Outcome);

        Assert.That((typed.Order, typed.Message), Is.EqualTo(("o-7", "no such order")));
        var failure = (RpcException)typed.InnerException!;
        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.NotFound, "no such order")));
        Assert.That(call.Status.Plain(), Is.EqualTo(failure.Status.Plain()));
        Assert.That(call.Trailers.GetValue("of-the-method"), Is.EqualTo("kept"));
        Assert.That(failure.Trailers.GetValue("of-the-method"), Is.EqualTo("kept"));
        Assert.That(call.Trailers.GetRpcStatus()!.GetDetail<ErrorInfo>()!.Reason, Is.EqualTo("o-7"));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task MappedException_AfterAnAwait_ArrivesTyped(MethodType shape)
    {
        CallInvoker invoker = await StartAsync(async _ =>
        {
            await Task.Yield();
            throw new OrderException("o-8", "locked");
        });

        using AnyCall call = AnyCall.Start(invoker, shape);

        Assert.That((await FaultOf<OrderException>(call.Outcome)).Order, Is.EqualTo("o-8"));
    }

    [Test]
    public async Task MappedException_OfABlockingCall_ArrivesTyped()
    {
        CallInvoker invoker = await StartAsync(_ => throw new OrderMissingException("o-9", "none"));

        var typed = await FaultOf<OrderMissingException>(
            Timeouts.OnThread(() => new ScriptClient(invoker).Unary(Payloads.Empty)));

        Assert.That(typed.Order, Is.EqualTo("o-9"));
    }

    [Test]
    public async Task DerivedException_WithoutAnEntry_IsSentAsItsBase()
    {
        CallInvoker invoker = await StartAsync(_ => throw new OrderLockedException("o-1", "locked"));

        var typed = await FaultOf<OrderException>(new ScriptClient(invoker).UnaryAsync(Payloads.Empty).ResponseAsync);

        Assert.That(typed, Is.TypeOf<OrderException>());
        Assert.That(((RpcException)typed.InnerException!).StatusCode, Is.EqualTo(StatusCode.FailedPrecondition));
    }

    [Test]
    public async Task ExceptionWithTheAttribute_ArrivesTyped()
    {
        var quota = new QuotaFailure { Violations = { new QuotaFailure.Types.Violation { Subject = "cpu" } } };
        CallInvoker invoker = await StartAsync(_ => throw new QuotaException(quota, "too much"));

        var typed = await FaultOf<QuotaException>(new ScriptClient(invoker).UnaryAsync(Payloads.Empty).ResponseAsync);

        Assert.That((typed.Failure, typed.Message), Is.EqualTo((quota, "too much")));
        Assert.That(((RpcException)typed.InnerException!).StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    [Test]
    public async Task EntryWithoutAFactory_IsAFaultExceptionAtTheClient()
    {
        CallInvoker invoker = await StartAsync(_ => throw new TimeZoneNotFoundException("Mars"));

        var typed = await FaultOf<ShmFaultException<ResourceInfo>>(
            new ScriptClient(invoker).UnaryAsync(Payloads.Empty).ResponseAsync);

        Assert.That((typed.StatusCode, typed.Detail.Description), Is.EqualTo((StatusCode.OutOfRange, "Mars")));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task FaultException_IsOneAtTheClientToo(MethodType shape)
    {
        var detail = new RetryInfo { RetryDelay = Duration.FromTimeSpan(TimeSpan.FromSeconds(3)) };
        CallInvoker invoker = await StartAsync(
            _ => throw new ShmFaultException<RetryInfo>(StatusCode.Aborted, detail, "again"));

        using AnyCall call = AnyCall.Start(invoker, shape);
        var typed = await FaultOf<ShmFaultException<RetryInfo>>(call.Outcome);

        Assert.That((typed.StatusCode, typed.Detail, typed.Message), Is.EqualTo((StatusCode.Aborted, detail, "again")));
        Assert.That(typed.InnerException, Is.TypeOf<RpcException>());
    }

    [Test]
    public async Task FaultException_OfATypeThatTheClientDoesNotKnow_IsTheRpcException()
    {
        CallInvoker invoker = await StartAsync(
            _ => throw new ShmFaultException<Help>(StatusCode.Aborted, new Help(), "see there"));

        RpcException failure = await FailureOf(new ScriptClient(invoker).UnaryAsync(Payloads.Empty));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Aborted, "see there")));
        Assert.That(failure.GetRpcStatus()!.GetDetail<Help>(), Is.Not.Null);
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task UnmappedException_IsUnknownAndTellsNothing(MethodType shape)
    {
        (CallRig rig, CallInvoker invoker) = await StartRigAsync(
            Everywhere(_ => throw new InvalidOperationException("secret")));
        rig.Log.Expect(MethodThrew);

        using AnyCall call = AnyCall.Start(invoker, shape);
        RpcException failure = await FailureOf(call.Outcome);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unknown));
        Assert.That(failure.ToString(), Does.Not.Contain("secret"));
    }

    [Test]
    public async Task RpcException_GoesOnUnchanged()
    {
        CallInvoker invoker = await StartAsync(
            _ => throw new RpcException(new Status(StatusCode.DataLoss, "gone"), new Metadata { { "key", "value" } }));

        RpcException failure = await FailureOf(new ScriptClient(invoker).UnaryAsync(Payloads.Empty));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.DataLoss, "gone")));
        Assert.That(failure.Trailers.GetValue("key"), Is.EqualTo("value"));
    }

    [Test]
    public async Task StreamThatFailsAfterAMessage_ThrowsTheTypedExceptionOfTheRead()
    {
        (_, CallInvoker invoker) = await StartRigAsync(new Script
        {
            ServerStream = async (request, responses, context) =>
            {
                await context.WriteResponseHeadersAsync([]);
                await responses.WriteAsync(request);
                throw new OrderException("o-2", "gone meanwhile");
            },
        });

        using AsyncServerStreamingCall<Payload> call = new ScriptClient(invoker).ServerStream(Payloads.Empty);
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        for (int i = 0; i < 2; i++)
        {
            var typed = await FaultOf<OrderException>(call.ResponseStream.MoveNext(CancellationToken.None));
            Assert.That(typed.Order, Is.EqualTo("o-2"));
        }

        Assert.That(await call.ResponseHeadersAsync.Bounded(), Is.Empty);
    }

    [Test]
    public async Task WriteAfterTheEnd_ThrowsTheTypedException()
    {
        CallInvoker invoker = await StartAsync(_ => throw new OrderMissingException("o-3", "none"));

        using AsyncDuplexStreamingCall<Payload, Payload> call = new ScriptClient(invoker).Duplex();
        await FaultOf<OrderMissingException>(call.ResponseStream.MoveNext(CancellationToken.None));
        var typed = await FaultOf<OrderMissingException>(WriteOnAsync(call.RequestStream));

        Assert.That(typed.Order, Is.EqualTo("o-3"));
    }

    [Test]
    public async Task Response_OfACallThatNobodyAwaits_IsNotUnobserved()
    {
        CallInvoker invoker = await StartAsync(_ => throw new OrderMissingException("o-4", "none"));

        IReadOnlyList<Exception> unobserved = await Unobserved.InAsync(async () =>
        {
            for (int i = 0; i < 10; i++)
            {
                using AsyncUnaryCall<Payload> call = new ScriptClient(invoker).UnaryAsync(Payloads.Empty);
                await Timeouts.Eventually(() => call.ResponseAsync.IsCompleted);
            }
        });

        Assert.That(unobserved.OfType<OrderException>(), Is.Empty);
    }

    [TestCase(0)]
    [TestCase(1)]
    public async Task MalformedDetails_NeverHideTheFailure(int what)
    {
        var any = new Any { TypeUrl = "type.googleapis.com/google.rpc.ErrorInfo", Value = Malformed };
        byte[] bytes = what == 0 ? Malformed.ToByteArray() : Bytes(new Google.Rpc.Status { Details = { any } });
        CallInvoker invoker = await StartAsync(_ => throw new RpcException(
            new Status(StatusCode.NotFound, "mangled"),
            new Metadata { { MetadataExtensions.StatusDetailsTrailerName, bytes } }));

        RpcException failure = await FailureOf(new ScriptClient(invoker).UnaryAsync(Payloads.Empty));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.NotFound, "mangled")));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task CallThatSucceeds_IsNotTouched(MethodType shape)
    {
        CallInvoker invoker = await StartAsync(_ => Task.CompletedTask);

        using AnyCall call = AnyCall.Start(invoker, shape);
        await call.Outcome.Bounded();

        Assert.That(call.Status, Is.EqualTo(Status.DefaultSuccess));
    }

    [Test]
    public async Task CancelledCall_IsCancelled()
    {
        var held = new HeldMethods();
        (_, CallInvoker invoker) = await StartRigAsync(held.Script);

        AnyCall call = AnyCall.Start(invoker, MethodType.Unary);
        await held.Began.Bounded();
        call.Dispose();

        Assert.That((await FailureOf(call.Outcome)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    private static Google.Protobuf.ByteString Malformed => Google.Protobuf.ByteString.CopyFrom(0x12, 0xFF, 0x00, 0x80);

    private static byte[] Bytes(Google.Protobuf.IMessage message) =>
        Google.Protobuf.MessageExtensions.ToByteArray(message);

    private static async Task WriteOnAsync(IClientStreamWriter<Payload> requests)
    {
        while (true)
        {
            await requests.WriteAsync(Payloads.Of("too late"));
        }
    }

    private static async Task<T> FaultOf<T>(Task call)
        where T : Exception => (T)(await Thrown.InAllAsync(() => call))!;

    private async Task<CallInvoker> StartAsync(Func<ServerCallContext, Task> method) =>
        (await StartRigAsync(Everywhere(method))).Invoker;

    private async Task<(CallRig Rig, CallInvoker Invoker)> StartRigAsync(Script script)
    {
        CallRig rig = await StartAsync(script, SampleFaults.Options);
        return (rig, rig.Channel.Intercept(SampleFaults.Client));
    }
}
