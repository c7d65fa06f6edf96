using Google.Protobuf;

namespace RpcOverShm.FunctionalTests.Statuses;

/// <summary>The call statuses that the ends of a method produce.</summary>
[EveryRig]
internal sealed class ServerStatusTests(RigKind kind) : ItemFixture(kind)
{
    public static IEnumerable<StatusCode> Failures => Enum.GetValues<StatusCode>().Where(code => code != StatusCode.OK);

    [TestCaseSource(nameof(Failures))]
    [Item("S1")]
    public async Task RpcExceptionOfAnyCode_ArrivesWithDetailAndTrailers(StatusCode code)
    {
        CallRig rig = await UseAsync(new Script());
        var request = new FailRequest { StatusCode = (int)code, Detail = "what went wrong" };
        request.Trailers.Add(new MetadataEntry { Key = "reason", Text = "tested" });
        request.Trailers.Add(
            new MetadataEntry { Key = "grpc-status-details-bin", Binary = ByteString.CopyFrom(1, 2, 3) });

        RpcException awaited = await FailureOf(rig.Conformance.FailAsync(request));
        RpcException blocking = await CallFailure.OfBlocking(() => rig.Conformance.Fail(request));

        foreach (RpcException failure in new[] { awaited, blocking })
        {
            Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(code, "what went wrong")));
            Assert.That(failure.Trailers.GetValue("reason"), Is.EqualTo("tested"));
            Assert.That(failure.Trailers.GetValueBytes("grpc-status-details-bin"), Is.EqualTo(new byte[] { 1, 2, 3 }));
        }
    }

    [Test]
    [Item("S1")]
    public async Task RpcExceptionOfHandler_IsTheStatusWithBothTrailers()
    {
        CallRig rig = await UseAsync(Everywhere(context =>
        {
            context.ResponseTrailers.Add("where", "context");
            context.ResponseTrailers.Add("both", "the same");
            throw new RpcException(
                new Status(StatusCode.Aborted, "by the method"),
                new Metadata { { "both", "the same" }, { "where", "exception" } });
        }));

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);

        foreach (RpcException failure in failures)
        {
            Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Aborted, "by the method")));
            Assert.That(ValuesOf(failure, "where"), Is.EqualTo(new[] { "context", "exception" }));
            Assert.That(ValuesOf(failure, "both"), Is.EqualTo(new[] { "the same", "the same" }));
        }
    }

    [Test]
    [Item("S2")]
    public async Task TrailersOfTheContext_AreSentWithAPlainException()
    {
        CallRig rig = await UseAsync(Everywhere(context =>
        {
            context.ResponseTrailers.Add("where", "context");
            throw new InvalidOperationException();
        }));
        rig.Log.Expect(MethodThrew);

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);

        Assert.That(
            failures.Select(failure => failure.Trailers.GetValue("where")), Is.All.EqualTo("context"));
    }

    [Test]
    [Item("S3")]
    public async Task SynchronousThrow_InEveryShape_IsTheSameAsAFaultedTask()
    {
        CallRig rig = await UseAsync(new Script
        {
            Unary = (_, _) => throw new InvalidOperationException("at once"),
            ClientStream = (_, _) => throw new InvalidOperationException("at once"),
            ServerStream = (_, _, _) => throw new InvalidOperationException("at once"),
            Duplex = (_, _, _) => throw new InvalidOperationException("at once"),
        });
        rig.Log.Expect(MethodThrew);

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);

        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Unknown));
    }

    [Test]
    [Item("S3")]
    public async Task NullTask_InEveryShape_IsUnknown()
    {
        CallRig rig = await UseAsync(new Script
        {
            Unary = (_, _) => null!,
            ClientStream = (_, _) => null!,
            ServerStream = (_, _, _) => null!,
            Duplex = (_, _, _) => null!,
        });
        rig.Log.Expect(MethodThrew);

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);

        Assert.That(
            failures.Select(failure => failure.Status.Plain()),
            Is.All.EqualTo(new Status(StatusCode.Unknown, "Exception was thrown by handler.")));
        if (IsShm)
        {
            await CallRig.WhenLoggedAsync();

            // The log names the null task instead of the NullReferenceException that an await would throw.
            Assert.That(
                rig.Log.Of(MethodThrew).Select(entry => entry.Exception!.Message),
                Has.Exactly(5).EqualTo("The method returned null in place of a task."));
        }
    }

    [Test]
    [Item("S5")]
    public async Task RpcExceptionWithOk_WhereAResponseIsDue_IsInternal()
    {
        CallRig rig = await UseAsync(Everywhere(_ => throw new RpcException(new Status(StatusCode.OK, "odd"))));

        RpcException[] failures =
        [
            await FailureOf(rig.Client.UnaryAsync(Payloads.Empty)),
            await CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty)),
            await FailureOf(rig.Client.ClientStream().ResponseAsync),
        ];
        using AsyncServerStreamingCall<Payload> stream = rig.Client.ServerStream(Payloads.Empty);
        List<Payload> responses = await stream.ResponseStream.ToListAsync();

        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Internal));
        Assert.That(
            failures.Select(failure => failure.Status.Detail),
            Is.All.StartsWith("Failed to deserialize response message"));
        Assert.That(responses, Is.Empty, "A stream may end well without a message.");
        Assert.That(stream.GetStatus().Plain(), Is.EqualTo(new Status(StatusCode.OK, "odd")));
    }

    [Test]
    [Item("S6")]
    public async Task ContextStatusNotOk_IsThrownByAUnaryClientWithTheTrailers()
    {
        CallRig rig = await UseAsync(Everywhere(SetStatusAsync));

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);

        foreach (RpcException failure in failures)
        {
            Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.FailedPrecondition, "set")));
            Assert.That(failure.Trailers.GetValue("trailer"), Is.EqualTo("too"));
        }
    }

    [Test]
    [Item("S6")]
    public async Task MessageOfAContextStatusNotOk_IsSentBeforeTheStatus()
    {
        CallRig rig = await UseAsync(Everywhere(SetStatusAsync));

        // The client takes the method for a server streaming one, and so sees the message that a unary call drops.
        using AsyncServerStreamingCall<Payload> call = rig.Invoker.AsyncServerStreamingCall(
            Script.Define(MethodType.ServerStreaming, "Unary"), null, default, Payloads.Of("sent"));
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        RpcException failure = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.FailedPrecondition, "set")));
    }

    [Test]
    [Item("S6")]
    public async Task ContextStatusNotOk_EndsAStreamWhenItsMessagesWereRead()
    {
        CallRig rig = await UseAsync(new Script
        {
            ServerStream = async (request, responses, context) =>
            {
                await responses.WriteAsync(request);
                context.Status = new Status(StatusCode.ResourceExhausted, "that was all");
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        RpcException failure = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.ResourceExhausted, "that was all")));
    }

    [Test]
    public async Task Failures_OfManyCalls_LeaveTheConnectionInOrder()
    {
        CallRig rig = await UseAsync(new Script());

        for (int i = 0; i < 300; i++)
        {
            RpcException failure = await FailureOf(
                rig.Conformance.FailAsync(new FailRequest { StatusCode = (i % 16) + 1, Detail = "no" }));
            Assert.That(failure.StatusCode, Is.EqualTo((StatusCode)((i % 16) + 1)));
        }
    }

    private static Task SetStatusAsync(ServerCallContext context)
    {
        context.Status = new Status(StatusCode.FailedPrecondition, "set");
        context.ResponseTrailers.Add("trailer", "too");
        return Task.CompletedTask;
    }

    private static string[] ValuesOf(RpcException failure, string key) =>
        [.. failure.Trailers.GetAll(key).Select(entry => entry.Value)];
}
