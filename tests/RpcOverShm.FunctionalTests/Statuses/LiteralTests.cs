namespace RpcOverShm.FunctionalTests.Statuses;

/// <summary>
/// Codes and texts that programs compare: identical on shared memory and grpc-dotnet, as observed on Grpc.Core 2.46.5.
/// </summary>
[EveryRig]
internal sealed class LiteralTests(RigKind kind) : ItemFixture(kind)
{
    [Test]
    [Item("L01")]
    public async Task MethodThatThrew()
    {
        CallRig rig = await UseAsync(Everywhere(_ => throw new InvalidOperationException("secret")));
        rig.Log.Expect(MethodThrew);

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);

        Assert.That(
            failures.Select(failure => failure.Status.Plain()),
            Is.All.EqualTo(new Status(StatusCode.Unknown, "Exception was thrown by handler.")));
    }

    [Test]
    [Item("L01")]
    public async Task MethodThatThrew_WithDetailedErrors()
    {
        CallRig rig = await UseAsync(
            Everywhere(_ => throw new InvalidOperationException("public")),
            new RigOptions { HasDetailedErrors = true });
        rig.Log.Expect(MethodThrew);

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        // Grpc.Core has no option for detailed errors.
        AssertStatus(
            failure,
            new Status(StatusCode.Unknown, "Exception was thrown by handler. InvalidOperationException: public"),
            new Status(StatusCode.Unknown, "Exception was thrown by handler."));
    }

    [Test]
    [Item("L02")]
    public async Task MethodThatReturnedNull()
    {
        CallRig rig = await UseAsync(new Script
        {
            Unary = (_, _) => Task.FromResult<Payload>(null!),
            ClientStream = (_, _) => Task.FromResult<Payload>(null!),
        });

        RpcException[] failures =
        [
            await FailureOf(rig.Client.UnaryAsync(Payloads.Empty)),
            await FailureOf(rig.Client.ClientStream().ResponseAsync),
        ];

        foreach (RpcException failure in failures)
        {
            AssertStatus(
                failure,
                new Status(StatusCode.Cancelled, "No message returned from method."),
                new Status(StatusCode.Cancelled, "CANCELLED"));
        }
    }

    [Test]
    [Item("L03")]
    public async Task MethodUnknown()
    {
        CallRig rig = await UseAsync(new Script());

        RpcException[] failures = await CallAsync(rig, "NoSuchMethod", Script.ServiceName);

        foreach (RpcException failure in failures)
        {
            AssertStatus(
                failure,
                new Status(StatusCode.Unimplemented, "Method is unimplemented."),
                new Status(StatusCode.Unimplemented, ""));
        }
    }

    [Test]
    [NotOn(RigKind.GrpcDotNet, "The routing of ASP.NET Core does not distinguish cases.")]
    [Item("L03")]
    public async Task MethodOfAnotherCase_IsUnknown()
    {
        CallRig rig = await UseAsync(new Script());

        RpcException failure = (await CallAsync(rig, "unary", Script.ServiceName))[0];

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
    }

    [Test]
    [Item("L03")]
    public async Task MethodOfTheLongestName_IsUnknown()
    {
        CallRig rig = await UseAsync(new Script());

        // Grpc.Core's metadata limit includes the name, and Kestrel limits a line: 8 KiB each.
        RpcException failure = (await CallAsync(rig, new string('m', IsShm ? 60_000 : 6000), Script.ServiceName))[0];

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
    }

    [Test]
    [Item("L04")]
    public async Task ServiceUnknown()
    {
        CallRig rig = await UseAsync(new Script());

        RpcException[] failures = await CallAsync(rig, "Unary", "no.such.Service");

        foreach (RpcException failure in failures)
        {
            AssertStatus(
                failure,
                new Status(StatusCode.Unimplemented, "Service is unimplemented."),
                new Status(StatusCode.Unimplemented, ""));
        }
    }

    [Test]
    [Item("L05")]
    public async Task MethodNotOverridden()
    {
        CallRig rig = await UseAsync(new Script());

        RpcException failure = await FailureOf(rig.Conformance.NotOverriddenAsync(Payloads.Of("x")));

        AssertStatus(
            failure, new Status(StatusCode.Unimplemented, ""), new Status(StatusCode.Unimplemented, ""));
    }

    [Test]
    [Item("L07")]
    public async Task DeadlineAtTheClient([Values] bool isPast)
    {
        CallRig rig = await UseAsync(Everywhere(context => Task.Delay(Timeout.Infinite, context.CancellationToken)));
        DateTime deadline = isPast ? DateTime.MinValue : DateTime.UtcNow.AddMilliseconds(100);

        RpcException failure = await FailureOf(
            rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(deadline: deadline)));

        AssertStatus(
            failure,
            new Status(StatusCode.DeadlineExceeded, ""),
            new Status(StatusCode.DeadlineExceeded, "Deadline Exceeded"));
    }

    [Test]
    [Item("L08")]
    public async Task MessageOverAReceiveLimit([Values] bool isTheServers)
    {
        CallRig rig = await UseAsync(
            new Script(),
            isTheServers ? new RigOptions { ServerMaxReceive = 1000 } : new RigOptions { ClientMaxReceive = 1000 });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.OfSize(1997)));

        AssertStatus(
            failure,
            new Status(StatusCode.ResourceExhausted, "Received message exceeds the maximum configured message size."),
            new Status(StatusCode.ResourceExhausted, "Received message larger than max (2000 vs. 1000)"));
    }

    [Test]
    [Item("L09")]
    public async Task MessageOverASendLimit([Values] bool isTheServers)
    {
        CallRig rig = await UseAsync(
            new Script(),
            isTheServers ? new RigOptions { ServerMaxSend = 1000 } : new RigOptions { ClientMaxSend = 1000 });
        rig.Log.Expect(MethodThrew);

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.OfSize(1997)));

        AssertStatus(
            failure,
            new Status(StatusCode.ResourceExhausted, "Sending message exceeds the maximum configured message size."),
            new Status(StatusCode.ResourceExhausted, "Sent message larger than max (2000 vs. 1000)"));
    }

    [Test]
    [Item("L10")]
    public async Task TokenCancelled([Values] bool isBefore)
    {
        var began = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        CallRig rig = await UseAsync(HoldingScript(began));
        using var cancellation = new CancellationTokenSource();
        if (isBefore)
        {
            await cancellation.CancelAsync();
        }

        Task<RpcException> failure = FailureOf(
            rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(cancellationToken: cancellation.Token)));
        Task moment = isBefore ? failure : began.Task;
        await moment.Bounded();
        await cancellation.CancelAsync();

        AssertStatus(
            await failure,
            new Status(StatusCode.Cancelled, "Call canceled by the client."),
            new Status(StatusCode.Cancelled, "CANCELLED"));
    }

    [Test]
    [Item("L11")]
    public async Task CallDisposed()
    {
        var began = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        CallRig rig = await UseAsync(HoldingScript(began));

        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        await began.Task.Bounded();
        call.Dispose();

        AssertStatus(
            await FailureOf(call),
            new Status(StatusCode.Cancelled, "gRPC call disposed."),
            new Status(StatusCode.Cancelled, "CANCELLED"));
    }

    [Test]
    [Item("L13")]
    public async Task TwoMessagesInAUnaryRequest()
    {
        CallRig rig = await UseAsync(new Script());

        // The client takes the server's unary method for a client streaming one.
        using AsyncClientStreamingCall<Payload, Payload> call = rig.Invoker.AsyncClientStreamingCall(
            Script.Define(MethodType.ClientStreaming, "Unary"), null, default);
        await call.RequestStream.WriteAsync(Payloads.Of("one")).Bounded();
        await CatchAsync(() => call.RequestStream.WriteAsync(Payloads.Of("two")));
        await CatchAsync(() => call.RequestStream.CompleteAsync());

        if (IsDotNet)
        {
            Assert.That(
                (await FailureOf(call.ResponseAsync)).Status.Plain(),
                Is.EqualTo(new Status(StatusCode.Internal, "Additional data after the message received.")));
        }
        else
        {
            // Grpc.Core reads the first message and ignores others.
            Assert.That((await call.ResponseAsync.Bounded()).Text(), Is.EqualTo("one"));
        }
    }

    [Test]
    [Item("L14")]
    public async Task UnaryResponseAbsentWithOk()
    {
        CallRig rig = await UseAsync(new Script { ServerStream = (_, _, _) => Task.CompletedTask });
        Method<Payload, Payload> method = Script.Define(MethodType.Unary, "ServerStream");

        // The client takes the server's stream, which is empty, for a unary method.
        RpcException awaited = await FailureOf(rig.Invoker.AsyncUnaryCall(method, null, default, Payloads.Empty));
        RpcException blocking = await CallFailure.OfBlocking(
            () => rig.Invoker.BlockingUnaryCall(method, null, default, Payloads.Empty));

        foreach (RpcException failure in new[] { awaited, blocking })
        {
            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
            Assert.That(failure.Status.Detail, Does.StartWith("Failed to deserialize response message"));
        }
    }

    [Test]
    [Item("L15")]
    public async Task CallThatCouldNotStart()
    {
        CallRig rig = await StartAsync(new Script());
        await rig.KillServerAsync().Bounded();

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(
            failure.Status.Detail,
            IsDotNet
                ? Does.StartWith("Error starting gRPC call. ")
                : Does.StartWith("failed to connect to all addresses"));
        Assert.That(failure.Status.DebugException, Is.Not.Null);
    }

    private static Script HoldingScript(TaskCompletionSource began) => Everywhere(context =>
    {
        began.TrySetResult();
        return Task.Delay(Timeout.Infinite, context.CancellationToken);
    });

    private static async Task<RpcException[]> CallAsync(CallRig rig, string name, string service) =>
    [
        await FailureOf(rig.Invoker.AsyncUnaryCall(
            Script.Define(MethodType.Unary, name, service), null, default, Payloads.Empty)),
        await CallFailure.OfBlocking(() => rig.Invoker.BlockingUnaryCall(
            Script.Define(MethodType.Unary, name, service), null, default, Payloads.Empty)),
        await FailureOf(rig.Invoker.AsyncDuplexStreamingCall(
            Script.Define(MethodType.DuplexStreaming, name, service), null, default).ResponseStream.ToListAsync()),
    ];

    private void AssertStatus(RpcException failure, Status grpcDotnet, Status grpcCore) =>
        Assert.That(failure.Status.Plain(), Is.EqualTo(IsDotNet ? grpcDotnet : grpcCore));
}
