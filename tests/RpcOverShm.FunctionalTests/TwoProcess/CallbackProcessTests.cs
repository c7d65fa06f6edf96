using System.Collections.Concurrent;
using System.Globalization;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>Callbacks between processes: both ways at once, without a free pool thread, to a dead client.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class CallbackProcessTests : PeerFixture
{
    private const int PeerLost = 102;

    private readonly ConcurrentBag<ShmSession> _sessions = [];

    // Half of the methods block in their callback.
    private static Script CallingBack => new()
    {
        Unary = async (request, context) =>
        {
            var back = new ScriptClient(context.GetShmSession().CreateCallInvoker());
            return request.Data.Length % 2 == 0 ? back.Unary(request) : await back.UnaryAsync(request);
        },
    };

    [TestCase(2)]
    [TestCase(8, Category = LongAttribute.Name)]
    public async Task Clients_OfEightThreads_WithCallsBothWays_LoseNone(int clients)
    {
        const int Calls = 100;
        await ServeCallingBackAsync();
        PeerProcess[] peers = await Task.WhenAll(Enumerable.Range(0, clients).Select(_ => StartOfferingPeerAsync()));
        await Task.WhenAll(peers.Select(peer => peer.DoAsync("echo 1")));
        await Timeouts.Eventually(() => _sessions.Count == clients);

        Task<string[]> calling = Task.WhenAll(peers.Select(peer => peer.DoAsync($"hammer 8 {Calls}")));
        bool[] right = await Task.WhenAll(_sessions.Select(session => CallAsync(session, calling))).Bounded();

        Assert.That(await calling.Bounded(), Is.All.EqualTo("0"));
        Assert.That(right, Has.Length.EqualTo(clients).And.All.True);
    }

    [Test]
    public async Task Callbacks_WhileAllThreadsOfTheClientsPoolAreBlocked_AreAnswered()
    {
        await ServeCallingBackAsync();
        PeerProcess peer = await StartOfferingPeerAsync();

        Assert.That(await peer.DoAsync("callbacks-without-pool 200").Bounded(), Is.EqualTo("0"));
    }

    // Any thread may write a message that waits for room. The method then goes on in the blocked thread.
    [Test]
    public async Task Callbacks_WithStreams_WhileAllThreadsOfTheClientsPoolAreBlocked_AreAnswered()
    {
        const int Bytes = 400_000;
        await ServeAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    var back = new ScriptClient(context.GetShmSession().CreateCallInvoker());
                    string[] wrong = await Task.WhenAll(
                        Shapes.RunAllAsync(back, Bytes), Shapes.RunAllAsync(back), Shapes.RunAllAsync(back, Bytes));
                    return wrong.All(shapes => shapes.Length == 0) ? request : Payloads.Empty;
                },
            },
            options => options.Scheduling = RigOptions.Mode);
        PeerProcess peer = await StartOfferingPeerAsync();

        Assert.That(await peer.DoAsync("callbacks-without-pool 20").Bounded(), Is.EqualTo("0"));
    }

    // Each of them keeps a thread, so that the pool has none for a timer. The thread of the caller is free again at the
    // deadline.
    [Test]
    public async Task Deadline_WhileCallbacksTakeTheClientsPool_EndsTheCall_AndThoseThatHaveNotBegun()
    {
        const int Callbacks = 40;
        var ended = new TaskCompletionSource<StatusCode[]>();
        await ServeAsync(new Script
        {
            Unary = async (request, context) =>
            {
                var back = new ScriptClient(context.GetShmSession().CreateCallInvoker());
                ended.SetResult(await Task.WhenAll(Enumerable.Range(0, Callbacks).Select(async _ =>
                {
                    using AsyncUnaryCall<Payload> call = back.UnaryAsync(request);
                    await ((Task)call.ResponseAsync).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
                    return call.GetStatus().StatusCode;
                })));
                return request;
            },
        });
        PeerProcess peer = await StartPeerAsync();

        string reply = await peer.DoAsync($"deadline-in-callbacks {Address} {Directory.Word} 1000").Bounded();
        string[] words = reply.Split();
        StatusCode[] callbacks = await ended.Task.Bounded();

        int begun = int.Parse(words[1], CultureInfo.InvariantCulture);
        Assert.That(words[0], Is.EqualTo("DeadlineExceeded"));
        Assert.That(begun, Is.InRange(1, Callbacks - 1));
        Assert.That(words[2], Is.EqualTo("False"), "The pool had a free thread.");
        Assert.That(callbacks.Count(code => code == StatusCode.OK), Is.LessThan(Callbacks / 2));
        Assert.That(callbacks.Where(code => code != StatusCode.OK), Is.All.EqualTo(StatusCode.Cancelled));
    }

    // The pool of the client gets a thread for each of them sooner or later, but not soon.
    [Test]
    [Long(
        "Each client's process takes ten seconds to end while its callbacks block.",
        "CallbackProcessTests.Callbacks_WhileAllThreadsOfTheClientsPoolAreBlocked_AreAnswered")]
    public async Task Callbacks_ThatBlockForEver_KeepTheClientNeitherFromItsAnswerNorFromItsExit()
    {
        const int DefaultLimit = 16;
        var made = new TaskCompletionSource<Task>();
        await ServeAsync(
            new Script
            {
                Unary = (request, context) =>
                {
                    var back = new ScriptClient(context.GetShmSession().CreateCallInvoker());
                    int count = int.Parse(request.Text(), CultureInfo.InvariantCulture);
                    made.SetResult(Task.WhenAll(
                        Enumerable.Range(0, count).Select(_ => back.UnaryAsync(Payloads.Empty).ResponseAsync)));
                    return Task.FromResult(request);
                },
            },
            options => options.Scheduling = RigOptions.Mode);
        PeerProcess peer = await StartPeerAsync();
        await peer.DoAsync($"blocking-callback-channel {Address} {Directory.Word} {RigOptions.Mode}");

        int begun = int.Parse(await peer.DoAsync("flood 1500"), CultureInfo.InvariantCulture);
        peer.EndInput();
        await peer.Exited.Bounded();
        RpcException failure = await CallFailure.OfAsync((await made.Task).Bounded());

        Assert.That(begun, Is.InRange(1, DefaultLimit));
        Assert.That(peer.ExitCode, Is.Zero);
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
    }

    [Test]
    public async Task Callback_ToAClientThatDies_IsUnavailable_AndItsSessionEnds()
    {
        var ended = new TaskCompletionSource<ShmSession>();
        ShmServer server = await ServeCallingBackAsync();
        Log.Expect(PeerLost);
        server.SessionEnded += (_, session) => ended.SetResult(session);
        PeerProcess peer = await StartOfferingPeerAsync();
        await peer.DoAsync("echo 1");
        await Timeouts.Eventually(() => _sessions.Count == 1);
        var back = new ScriptClient(_sessions.Single().CreateCallInvoker());
        using AsyncDuplexStreamingCall<Payload, Payload> stream = back.Duplex();
        await stream.RequestStream.WriteAsync(Payloads.Of("x"));
        await stream.ResponseStream.MoveNext(CancellationToken.None).Bounded();

        peer.Kill();
        await peer.Exited.Bounded();

        RpcException running = await CallFailure.OfAsync(stream.ResponseStream.MoveNext(CancellationToken.None));
        ShmSession session = await ended.Task.Bounded();
        RpcException later = await CallFailure.OfAsync(back.UnaryAsync(Payloads.Empty).ResponseAsync);
        Assert.That(running.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(later.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That((session.ProcessId, session.OffersCallbacks), Is.EqualTo((peer.Id, false)));
    }

    private static async Task<bool> CallAsync(ShmSession session, Task until)
    {
        var client = new ScriptClient(session.CreateCallInvoker());
        bool isRight = true;
        for (int size = 0; !until.IsCompleted; size = (size + 7) % 5000)
        {
            isRight &= (await client.UnaryAsync(Payloads.OfSize(size))).IsOfSize(size);
        }

        return isRight & (await Shapes.RunAllAsync(client)).Length == 0;
    }

    private async Task<ShmServer> ServeCallingBackAsync()
    {
        ShmServer server = await ServeAsync(CallingBack, options => options.Scheduling = RigOptions.Mode);
        server.SessionStarted += (_, session) => _sessions.Add(session);
        return server;
    }

    private async Task<PeerProcess> StartOfferingPeerAsync()
    {
        PeerProcess peer = await StartPeerAsync();
        await peer.DoAsync($"callback-channel {Address} {Directory.Word} {RigOptions.Mode}");
        return peer;
    }
}
