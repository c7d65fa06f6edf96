namespace RpcOverShm.FunctionalTests.Statuses;

/// <summary>
/// Codes and texts that programs compare: identical on shared memory and grpc-dotnet, as observed on Grpc.Core 2.46.5.
/// </summary>
[EveryRig]
internal sealed class LiteralTests(RigKind kind) : ItemFixture(kind)
{
    [Test]
    [Item("L01")]
    [Item("S2")]
    public async Task MethodThatThrew([Values] bool isLater)
    {
        CallRig rig = await UseAsync(Everywhere(async _ =>
        {
            await (isLater ? Task.Delay(1) : Task.CompletedTask);
            throw new InvalidOperationException("secret");
        }));
        rig.Log.Expect(MethodThrew);

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);

        Assert.That(
            failures.Select(failure => failure.Status.Plain()),
            Is.All.EqualTo(new Status(StatusCode.Unknown, "Exception was thrown by handler.")));
        Assert.That(failures.Select(failure => failure.Trailers), Is.All.Empty);
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
    [Item("S4")]
    public async Task MethodThatReturnedNull()
    {
        CallRig rig = await UseAsync(new Script
        {
            Unary = (_, context) => NullAsync(context),
            ClientStream = (_, context) => NullAsync(context),
        });

        RpcException[] failures =
        [
            await FailureOf(rig.Client.UnaryAsync(Payloads.Empty)),
            await CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty)),
            await FailureOf(rig.Client.ClientStream().ResponseAsync),
        ];

        foreach (RpcException failure in failures)
        {
            AssertStatus(
                failure,
                new Status(StatusCode.Cancelled, "No message returned from method."),
                new Status(StatusCode.Cancelled, "CANCELLED"));

            // Grpc.Core resets the stream, so there are no trailers.
            Assert.That(failure.Trailers.GetValue("trailer"), Is.EqualTo(IsDotNet ? "too" : null));
        }
    }

    [TestCase("NoSuchMethod", Script.ServiceName, "Method is unimplemented.")]
    [TestCase("Unary", "no.such.Service", "Service is unimplemented.")]
    [Item("L03")]
    [Item("L04")]
    public async Task MethodOrServiceUnknown(string name, string service, string detail)
    {
        CallRig rig = await UseAsync(new Script());

        RpcException[] failures = await CallAsync(rig, name, service);

        foreach (RpcException failure in failures)
        {
            AssertStatus(
                failure, new Status(StatusCode.Unimplemented, detail), new Status(StatusCode.Unimplemented, ""));
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
        CallRig rig = await UseAsync(new HeldMethods().Script);
        DateTime deadline = isPast ? DateTime.MinValue : DateTime.UtcNow.AddMilliseconds(100);

        RpcException failure = await FailureOf(
            rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(deadline: deadline)));

        // Over HTTP/2, the end that the server sends at the same deadline may come first.
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(failure.Status.Detail, IsShm ? Is.Empty : Is.AnyOf("", "Deadline Exceeded"));
    }

    [Test]
    [Item("L08")]
    [Item("L09")]
    public async Task MessageOverALimit([Values] bool isReceived, [Values] bool isTheServers)
    {
        CallRig rig = await UseAsync(new Script(), (isReceived, isTheServers) switch
        {
            (true, true) => new RigOptions { ServerMaxReceive = 1000 },
            (true, false) => new RigOptions { ClientMaxReceive = 1000 },
            (false, true) => new RigOptions { ServerMaxSend = 1000 },
            (false, false) => new RigOptions { ClientMaxSend = 1000 },
        });
        rig.Log.Expect(MethodThrew);

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.OfSize(1997)));

        (string doing, string done) = isReceived ? ("Received", "Received") : ("Sending", "Sent");
        string option = isReceived ? "MaxReceiveMessageSize" : "MaxSendMessageSize";

        // Programs that compare the text of grpc-dotnet compare its beginning.
        string side = isTheServers ? "server" : "client";
        string sizes = $" The message has 2000 bytes; {option} of the {side} allows 1000. "
            + "Raise it there, or send the data as a stream of smaller messages.";
        AssertStatus(
            failure,
            new Status(
                StatusCode.ResourceExhausted,
                $"{doing} message exceeds the maximum configured message size.{(IsShm ? sizes : "")}"),
            new Status(StatusCode.ResourceExhausted, $"{done} message larger than max (2000 vs. 1000)"));
    }

    [Test]
    [Item("L10")]
    public async Task TokenCancelled([Values] bool isBefore)
    {
        var held = new HeldMethods();
        CallRig rig = await UseAsync(held.Script);
        using var cancellation = new CancellationTokenSource();
        if (isBefore)
        {
            await cancellation.CancelAsync();
        }

        Task<RpcException> failure = FailureOf(
            rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(cancellationToken: cancellation.Token)));
        Task moment = isBefore ? failure : held.Began;
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
        var held = new HeldMethods();
        CallRig rig = await UseAsync(held.Script);

        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        await held.Began.Bounded();
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
    [NotOn(RigKind.GrpcCore, "It has another text.")]
    [NotOn(RigKind.GrpcDotNet, "It takes the second message for a failure to start the call.")]
    public async Task TwoMessagesInAUnaryResponse()
    {
        CallRig rig = await UseAsync(new Script
        {
            ServerStream = async (request, responses, _) =>
            {
                await responses.WriteAsync(request);
                await responses.WriteAsync(request);
            },
        });

        // The client takes the server's stream for a unary method.
        RpcException failure = await FailureOf(rig.Invoker.AsyncUnaryCall(
            Script.Define(MethodType.Unary, "ServerStream"), null, default, Payloads.Of("x")));

        Assert.That(
            failure.Status.Plain(),
            Is.EqualTo(new Status(StatusCode.Internal, "Additional data after the message received.")));
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

    private static Task<Payload> NullAsync(ServerCallContext context)
    {
        context.ResponseTrailers.Add("trailer", "too");
        return Task.FromResult<Payload>(null!);
    }

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
