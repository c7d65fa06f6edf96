using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;

namespace RpcOverShm.FunctionalTests.Connectivity;

/// <summary>Transparent retry of calls that a stopping server refused before a method saw them.</summary>
internal sealed class RefusedCallTests() : RigFixture(RigKind.Shm)
{
    private const int ConnectionOpened = 100;

    public static IEnumerable<int> Sizes => [0, 100, 30_000, 300_000];

    [TestCaseSource(nameof(Sizes))]
    public async Task BlockingCall_Refused_IsServedByTheNextServer(int bytes)
    {
        await AssertServedByTheNextAsync(
            client => Timeouts.OnThread(() => client.Unary(Payloads.OfSize(bytes))), bytes);
    }

    [TestCaseSource(nameof(Sizes))]
    public async Task AwaitedCall_Refused_IsServedByTheNextServer(int bytes)
    {
        await AssertServedByTheNextAsync(client => client.UnaryAsync(Payloads.OfSize(bytes)).ResponseAsync, bytes);
    }

    [TestCaseSource(nameof(Sizes))]
    public async Task ServerStream_Refused_IsServedByTheNextServer(int bytes)
    {
        await AssertServedByTheNextAsync(
            async client =>
            {
                using AsyncServerStreamingCall<Payload> call = client.ServerStream(Payloads.OfSize(bytes));
                return (await call.ResponseStream.ToListAsync()).Single();
            },
            bytes);
    }

    [Test]
    public async Task CallWithHeadersAndDeadline_Refused_KeepsThem()
    {
        ShmRig rig = await StartWithoutServerAsync();
        var leaving = new RawServer(rig.Place);
        var headers = new Metadata { { "key", "value" } };
        var options = new CallOptions(headers, DateTime.UtcNow.AddHours(1)).WithWaitForReady();

        Task<Payload> answer = rig.Client.UnaryAsync(Payloads.Of("again"), options).ResponseAsync;
        headers.Clear();
        await RefuseFirstAsync(leaving, async () => await rig.StartServerAsync(new Script
        {
            Unary = (request, context) => Task.FromResult(Payloads.Of(
                $"{request.Text()} {context.RequestHeaders.GetValue("key")} {context.Deadline < DateTime.MaxValue}")),
        }.Build()));

        Assert.That((await answer.Bounded()).Text(), Is.EqualTo("again value True"));
    }

    [Test]
    public async Task Call_ThatCrossesTheGoAwayOfAnIdleServer_IsRefusedAndNotCutOff()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using RawPeer client = await RawPeer.ConnectAsync(rig.Place);

        Task stopping = rig.Server.StopAsync();
        await client.ReceiveAsync(FrameKind.GoAway);
        client.StartUnary(RawFrames.First); // As if the client had not read the GoAway.
        RawFrame end = await client.ReceiveAsync(FrameKind.End);
        client.Dispose();
        await stopping.Bounded();

        Assert.That(StatusTrailer.Decode(end.Head).IsNotProcessed, Is.True);
    }

    [Test]
    public async Task Stop_OfAnIdleServer_DoesNotWaitForAClientThatStays()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using RawPeer client = await RawPeer.ConnectAsync(rig.Place);

        await rig.Server.StopAsync().Bounded();

        Assert.That(await client.ClosedAsync(), Is.Empty);
    }

    [Test]
    public async Task Call_RefusedByEveryServer_EndsUnavailable([Values] bool isBlocking)
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var leaving = new RawServer(rig.Place);
        ScriptClient client = rig.Client;

        Task<RpcException> failure = isBlocking
            ? CallFailure.OfBlocking(() => client.Unary(Payloads.Empty))
            : FailureOf(client.UnaryAsync(Payloads.Empty));
        int refusals = 0;
        Task refusing = Task.Run(async () =>
        {
            while (true)
            {
                using RawPeer server = await leaving.AcceptAsync();
                CallId call = await server.ReceiveCallAsync();
                Interlocked.Increment(ref refusals);
                server.Refuse(call);
            }
        });
        RpcException end = await failure;

        Assert.That(end.Status.Plain(), Is.EqualTo(new Status(StatusCode.Unavailable, "leaving")));
        Assert.That(Volatile.Read(ref refusals), Is.EqualTo(4), "The first, and three times anew.");
        leaving.Dispose();
        await refusing.ContinueWith(ended => ended.Exception, TaskScheduler.Default).Bounded();
    }

    [Test]
    public async Task Call_ThatAMethodHasSeen_IsNotMadeAgain()
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var leaving = new RawServer(rig.Place);

        Task<RpcException> failure = FailureOf(rig.Client.UnaryAsync(Payloads.Empty));
        using RawPeer server = await leaving.AcceptAsync();
        RawFrame start = await server.ReceiveAsync(FrameKind.CallStart);
        server.Send(FrameKind.GoAway);
        server.Send(
            FrameKind.End, start.Call, FrameFlags.None, RawFrames.Trailer(StatusCode.Unavailable, "seen"));

        Assert.That((await failure).Status.Detail, Is.EqualTo("seen"));
    }

    [Test]
    public async Task Calls_RefusedWhileTheyAreGivenUpOrTheirChannelIs_AllEnd([Values] bool isByShutdown)
    {
        const int Calls = 300;
        ShmRig rig = await StartWithoutServerAsync();
        using var leaving = new RawServer(rig.Place);
        using var cancel = new CancellationTokenSource();

        AsyncUnaryCall<Payload>[] calls =
        [
            .. Enumerable.Range(0, Calls).Select(_ => rig.Client.UnaryAsync(
                Payloads.Empty, new CallOptions(cancellationToken: cancel.Token))),
        ];
        using RawPeer server = await leaving.AcceptAsync();
        var started = new List<CallId>();
        while (started.Count < Calls)
        {
            started.Add((await server.ReceiveAsync(FrameKind.CallStart)).Call);
        }

        // The refusals race with the shutdown or the cancellation.
        server.Send(FrameKind.GoAway);
        Task givingUp = Task.Run(
            () => isByShutdown ? rig.ShmChannel.ShutdownAsync() : cancel.CancelAsync());
        foreach (CallId call in started)
        {
            if (!server.TrySend(new(FrameKind.End, call, FrameFlags.None, RawFrames.Refusal)))
            {
                break;
            }
        }

        await givingUp.Bounded();
        foreach (AsyncUnaryCall<Payload> call in calls)
        {
            Assert.That((await FailureOf(call)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        }
    }

    [Test]
    public async Task Call_DisposedWhenItIsRefused_StaysCancelled()
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var leaving = new RawServer(rig.Place);

        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Of("disposed"));
        using RawPeer server = await leaving.AcceptAsync();
        RawFrame start = await server.ReceiveAsync(FrameKind.CallStart);
        call.Dispose();
        RpcException failure = await FailureOf(call);
        server.Send(FrameKind.End, start.Call, FrameFlags.None, RawFrames.Refusal);

        // The first response follows the refusal in the ring. A retried call would start before the second request.
        await AnswerNextAsync("behind it");
        Status status = call.GetStatus();
        await AnswerNextAsync("and another");

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(status, Is.EqualTo(failure.Status));
        await CallRig.WhenLoggedAsync();
        Assert.That(rig.Log.Of(ConnectionOpened), Has.Count.EqualTo(1));

        async Task AnswerNextAsync(string text)
        {
            Task<Payload> next = rig.Client.UnaryAsync(Payloads.Of(text)).ResponseAsync;
            RawFrame its = await server.ReceiveAsync(FrameKind.CallStart);
            Assert.That(its.Read().Text(), Is.EqualTo(text), "No call was made anew.");
            server.Send(FrameKind.End, its.Call, FrameFlags.HasMessage, body: its.Body);
            await next.Bounded();
        }
    }

    private async Task AssertServedByTheNextAsync(Func<ScriptClient, Task<Payload>> call, int bytes)
    {
        ShmRig rig = await StartWithoutServerAsync();
        var leaving = new RawServer(rig.Place);

        Task<Payload> answer = call(rig.Client);
        await RefuseFirstAsync(leaving, async () => await rig.StartServerAsync(new Script().Build()));

        Assert.That((await answer.Bounded()).IsOfSize(bytes));
    }

    /// <summary>Refuses the first call after its request has arrived and the next server has started.</summary>
    private static async Task RefuseFirstAsync(RawServer leaving, Func<Task> startNext)
    {
        using RawPeer server = await leaving.AcceptAsync();
        leaving.Dispose();
        await startNext();
        server.Refuse(await server.ReceiveCallAsync());
    }
}
