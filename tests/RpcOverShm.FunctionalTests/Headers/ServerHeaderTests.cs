namespace RpcOverShm.FunctionalTests.Headers;

/// <summary>The order and timing of response headers and trailers.</summary>
[EveryRig]
internal sealed class ServerHeaderTests(RigKind kind) : ItemFixture(kind)
{
    [Test]
    [Item("S7")]
    public async Task HeadersWritten_AreThereBeforeAnyMessage()
    {
        var mayWrite = new TaskCompletionSource();
        CallRig rig = await UseAsync(new Script
        {
            ServerStream = async (request, responses, context) =>
            {
                await context.WriteResponseHeadersAsync(new Metadata { { "early", "yes" } });
                await mayWrite.Task;
                await responses.WriteAsync(request);
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Task<bool> first = call.ResponseStream.MoveNext(CancellationToken.None);
        Metadata headers = await call.ResponseHeadersAsync.Bounded();

        Assert.That(headers.GetValue("early"), Is.EqualTo("yes"));
        Assert.That(first.IsCompleted, Is.False);
        mayWrite.SetResult();
        Assert.That(await first.Bounded());
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded(), Is.False);
    }

    [Test]
    [Item("S7")]
    public async Task HeadersNotWritten_AreThereWithTheFirstMessage()
    {
        var mayEnd = new TaskCompletionSource();
        CallRig rig = await UseAsync(new Script
        {
            ServerStream = async (request, responses, _) =>
            {
                await responses.WriteAsync(request);
                await mayEnd.Task;
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Metadata headers = await call.ResponseHeadersAsync.Bounded();

        Assert.That(headers.GetValue("early"), Is.Null);
        mayEnd.SetResult();
        Assert.That(await call.ResponseStream.ToListAsync(), Has.Count.EqualTo(1));
    }

    [Test]
    [Item("S7")]
    public async Task Headers_BeforeTheMethodAnswers_AreNotThere()
    {
        var began = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var mayEnd = new TaskCompletionSource();
        CallRig rig = await UseAsync(new Script
        {
            Unary = async (request, _) =>
            {
                began.SetResult();
                await mayEnd.Task;
                return request;
            },
        });

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        await began.Task.Bounded();
        // Headers that were sent unasked would arrive before the responses of these calls.
        for (int i = 0; i < 10; i++)
        {
            await rig.Conformance.EchoAsync(Payloads.Empty).ResponseAsync.Bounded();
        }

        Assert.That(call.ResponseHeadersAsync.IsCompleted, Is.False);
        mayEnd.SetResult();
        await call.ResponseAsync.Bounded();

        Assert.That(await call.ResponseHeadersAsync.Bounded(), Is.Not.Null);
    }

    [Test]
    [Item("S7")]
    public async Task HeadersWrittenTwice_Throw()
    {
        Exception? exception = await InMethodAsync(async (_, context) =>
        {
            await context.WriteResponseHeadersAsync([]);
            await context.WriteResponseHeadersAsync([]);
        });

        Assert.That(exception, Is.InstanceOf<InvalidOperationException>());
        Assert.That(exception!.Message, Is.EqualTo(IsDotNet
            ? "Response headers can only be sent once per call."
            : "Response headers can only be sent once per call."));
    }

    [Test]
    [Item("S7")]
    public async Task HeadersAfterAMessage_Throw()
    {
        Exception? exception = await InMethodAsync(async (responses, context) =>
        {
            await responses.WriteAsync(Payloads.Empty);
            await context.WriteResponseHeadersAsync([]);
        });

        Assert.That(exception, Is.InstanceOf<InvalidOperationException>());
    }

    [Test]
    [Item("S7")]
    public async Task HeadersNull_Throw()
    {
        Exception? exception = await InMethodAsync((_, context) => context.WriteResponseHeadersAsync(null!));

        // Grpc.Core's native layer rejects missing headers with the same exception type.
        Assert.That(exception, Is.InstanceOf<ArgumentNullException>());
    }

    [Test]
    [Item("S8")]
    public async Task FailureBeforeHeaders_LetsTheClientsHeadersComplete()
    {
        CallRig rig = await UseAsync(Everywhere(_ => throw new RpcException(
            new Status(StatusCode.NotFound, "nothing"), new Metadata { { "why", "because" } })));

        using AsyncUnaryCall<Payload> unary = rig.Client.UnaryAsync(Payloads.Empty);
        using AsyncServerStreamingCall<Payload> stream = rig.Client.ServerStream(Payloads.Empty);
        RpcException failed = await FailureOf(unary);
        RpcException streamed = await FailureOf(stream.ResponseStream.MoveNext(CancellationToken.None));
        Metadata[] headers = [await unary.ResponseHeadersAsync.Bounded(), await stream.ResponseHeadersAsync.Bounded()];

        // In HTTP/2 a response without messages has one metadata block; grpc-dotnet shows it as headers and trailers.
        string? why = IsGrpcDotNet ? "because" : null;
        Assert.That(headers.Select(metadata => metadata.GetValue("why")), Is.All.EqualTo(why));
        Assert.That(failed.Trailers.GetValue("why"), Is.EqualTo("because"));
        Assert.That(streamed.Trailers.GetValue("why"), Is.EqualTo("because"));
        Assert.That(unary.GetTrailers().GetValue("why"), Is.EqualTo("because"));
    }

    [Test]
    [Item("S9")]
    public async Task TrailersSetAfterHeadersAndMessages_AreDeliveredWithTheStatus()
    {
        CallRig rig = await UseAsync(new Script
        {
            Unary = async (request, context) =>
            {
                await context.WriteResponseHeadersAsync(new Metadata { { "early", "yes" } });
                context.ResponseTrailers.Add("late", "yes");
                return request;
            },
            ServerStream = async (request, responses, context) =>
            {
                await context.WriteResponseHeadersAsync([]);
                await responses.WriteAsync(request);
                context.ResponseTrailers.Add("late", "yes");
            },
        });

        using AsyncUnaryCall<Payload> unary = rig.Client.UnaryAsync(Payloads.Empty);
        await unary.ResponseAsync.Bounded();
        using AsyncServerStreamingCall<Payload> stream = rig.Client.ServerStream(Payloads.Empty);
        await stream.ResponseStream.ToListAsync();

        Assert.That((await unary.ResponseHeadersAsync.Bounded()).GetValue("early"), Is.EqualTo("yes"));
        Assert.That(unary.GetTrailers().GetValue("late"), Is.EqualTo("yes"));
        Assert.That(stream.GetTrailers().GetValue("late"), Is.EqualTo("yes"));
    }
}
