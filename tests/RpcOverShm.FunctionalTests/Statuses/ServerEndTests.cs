namespace RpcOverShm.FunctionalTests.Statuses;

/// <summary>Methods that end before their client, or long after it.</summary>
[EveryRig]
internal sealed class ServerEndTests(RigKind kind) : ItemFixture(kind)
{
    [Test]
    [Item("S12")]
    public async Task MethodThatReturnsEarly_EndsTheCallForTheWriter()
    {
        CallRig rig = await UseAsync(new Script
        {
            ClientStream = async (requests, _) =>
            {
                await requests.MoveNext(CancellationToken.None);
                return Payloads.Of("enough");
            },
        });

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await call.RequestStream.WriteAsync(Payloads.Of("one")).Bounded();
        Payload response = await call.ResponseAsync.Bounded();
        RpcException failure = await CallFailure.OfWritesAsync(call.RequestStream);

        Assert.That(response.Text(), Is.EqualTo("enough"));
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.OK));
    }

    [Test]
    [Item("S12")]
    public async Task MethodThatFailsEarly_FailsTheCallForTheWriter()
    {
        var end = new RpcException(new Status(StatusCode.OutOfRange, "no more"));
        CallRig rig = await UseAsync(new Script
        {
            ClientStream = (_, _) => throw end,
            Duplex = (_, _, _) => throw end,
        });

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        using AsyncDuplexStreamingCall<Payload, Payload> duplex = rig.Client.Duplex();
        RpcException[] failures =
        [
            await FailureOf(call.ResponseAsync),
            await CallFailure.OfWritesAsync(call.RequestStream),
            await FailureOf(duplex.ResponseStream.ToListAsync()),
            await CallFailure.OfWritesAsync(duplex.RequestStream),
        ];

        Assert.That(
            failures.Select(failure => failure.Status.Plain()),
            Is.All.EqualTo(new Status(StatusCode.OutOfRange, "no more")));
    }

    [Test]
    [NotOn(RigKind.GrpcDotNet, "HTTP/2 resets the stream of a request that nobody reads on: that write is Cancelled.")]
    [Item("S12")]
    public async Task WriteThatWaits_EndsWithAMethodThatReturnsEarly()
    {
        var mayEnd = new TaskCompletionSource();
        CallRig rig = await UseAsync(
            new Script
            {
                ClientStream = async (_, _) =>
                {
                    await mayEnd.Task;
                    throw new RpcException(new Status(StatusCode.OutOfRange, "no more"));
                },
            },
            RigOptions.AnySize);

        // Far larger than any window, so the write waits for a method that does not read.
        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        Task write = call.RequestStream.WriteAsync(Payloads.OfSize(20_000_000));
        Assert.That(write.IsCompleted, Is.False);
        mayEnd.SetResult();
        Exception? written = await CatchAsync(() => write);
        RpcException failure = await FailureOf(call.ResponseAsync);

        // Grpc.Core drops the waiting message and reports success, unless the call ended before the write.
        var noMore = new Status(StatusCode.OutOfRange, "no more");
        Assert.That(failure.Status.Plain(), Is.EqualTo(noMore));
        Assert.That(
            (written as RpcException)?.Status.Plain() ?? (IsDotNet ? Status.DefaultSuccess : noMore),
            Is.EqualTo(noMore));
    }

    [Test]
    [Item("S13")]
    public async Task MethodThatIgnoresTheCancel_RunsOnAndItsResultIsDropped([Values] bool isThrowing)
    {
        var began = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var mayEnd = new TaskCompletionSource();
        var ended = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        CallRig rig = await UseAsync(new Script
        {
            Unary = async (request, context) =>
            {
                began.SetResult();
                await mayEnd.Task;
                context.ResponseTrailers.Add("late", "yes");
                ended.SetResult(request.Text());
                return isThrowing ? throw new RpcException(new Status(StatusCode.DataLoss, "late")) : request;
            },
        });
        using var cancellation = new CancellationTokenSource();

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(
            Payloads.Of("what was asked"), new CallOptions(cancellationToken: cancellation.Token));
        await began.Task.Bounded();
        await cancellation.CancelAsync();
        RpcException failure = await FailureOf(call);
        await AssertRunningAsync(rig, methods: 1);
        mayEnd.SetResult();

        Assert.That(await ended.Task.Bounded(), Is.EqualTo("what was asked"), "What it was given is still its own.");
        await AssertRunningAsync(rig, methods: 0);
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(failure.Trailers.GetValue("late"), Is.Null);
    }

    // The server removes the call at once, but counts its method until it returns.
    private static async Task AssertRunningAsync(CallRig rig, int methods)
    {
        if (rig is ShmRig shm)
        {
            await Timeouts.Eventually(() => shm.OnlyConnection.IncomingCount == 0);
            await Timeouts.Eventually(() => shm.Served.Single().PendingOrRunning == methods);
        }
    }
}
