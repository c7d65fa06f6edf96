using System.Collections.Concurrent;
using System.Diagnostics;
using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;
using RpcOverShm.Servers;

namespace RpcOverShm.FunctionalTests.Limits;

/// <summary>
/// The limits on running calls: excess calls wait in their order, up to another limit, and leave it when they end.
/// </summary>
[Parallelizable]
internal sealed class CallLimitTests() : RigFixture(RigKind.Shm)
{
    private const int LimitReached = 109;

    private readonly ConcurrentQueue<string> _begun = new();
    private readonly ConcurrentDictionary<string, TaskCompletionSource> _released = new();

    [SetUp]
    public void Forget()
    {
        _begun.Clear();
        _released.Clear();
    }

    [Test]
    public async Task CallsUpToTheLimit_Run_AndTheOthersBeginInTheirOrder([Values] bool isOfServer)
    {
        ShmRig rig = await StartAsync(running: 2, queued: 10, isOfServer);
        Task[] calls = [.. "abcde".Select(name => StartAsync(rig.Client, $"{name}"))];

        await WaitForAsync(rig, waiting: 3);
        await Timeouts.Eventually(() => _begun.Count == 2, "those that need not wait have begun");
        string[] atFirst = [.. _begun];
        Release("b");
        await Timeouts.Eventually(() => _begun.Count == 3, "one call ends, one begins");
        string third = _begun.Last();
        Release("a", "c", "d", "e");
        await Task.WhenAll(calls).Bounded();

        Assert.That(atFirst, Is.EquivalentTo((string[])["a", "b"]));
        Assert.That(third, Is.EqualTo("c"));
        Assert.That(Counts(rig), Is.EqualTo((0, 0)));
        string option = isOfServer ? "MaxConcurrentCalls" : "MaxConcurrentCallsPerConnection";
        LogEntry entry = await rig.Log.WaitForAsync(LimitReached);
        Assert.That(entry.Message, Does.StartWith($"{option} = 2 is reached"));
        Assert.That(entry.Level, Is.EqualTo(LogLevel.Information), "Nothing is refused.");
    }

    [Test]
    public async Task Deadline_OfACallThatWaitsForItsTurn_NamesTheLimit([Values] bool isBlocking)
    {
        const int Running = 2;
        ShmRig rig = await StartAsync(Running, queued: 10);
        Task[] calls = [StartAsync(rig.Client, "a"), StartAsync(rig.Client, "b")];
        await Timeouts.Eventually(() => _begun.Count == Running);
        var soon = new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(200));

        RpcException failure = isBlocking
            ? await CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Of("c"), soon))
            : await FailureOf(rig.Client.UnaryAsync(Payloads.Of("c"), soon));
        Release("a", "b");
        await Task.WhenAll(calls).Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(
            failure.Status.Detail,
            Is.EqualTo(
                $"Of the calls of this connection, the server, process {Environment.ProcessId}, runs {Running} at a "
                + $"time (MaxConcurrentCallsPerConnection), and {Running + 1} had not ended: this one may have waited "
                + "for its turn."));
    }

    // The End of a call must not overtake the count of its method, or the next call is refused now and then.
    [TestCase(200, false, false)]
    [TestCase(200, false, true)]
    [TestCase(200, true, false)]
    [TestCase(200, true, true)]
    [TestCase(3000, false, false, Category = LongAttribute.Name)]
    [TestCase(3000, false, true, Category = LongAttribute.Name)]
    [TestCase(3000, true, false, Category = LongAttribute.Name)]
    [TestCase(3000, true, true, Category = LongAttribute.Name)]
    public async Task OneAfterTheOther_AtALimitOfOneWithoutAQueue_AllRun(int calls, bool isBlocking, bool isOfServer)
    {
        ShmRig rig = await StartShmAsync(new Script(), Options(running: 1, queued: 0, isOfServer));

        for (int i = 0; i < calls; i++)
        {
            Payload answer = isBlocking
                ? await Timeouts.OnThread(() => rig.Client.Unary(Payloads.Of("x")))
                : await rig.Client.UnaryAsync(Payloads.Of("x")).ResponseAsync.Bounded();
            Assert.That(answer.Text(), Is.EqualTo("x"));
        }

        await CallRig.WhenLoggedAsync();
        Assert.That(rig.Log.Of(LimitReached), Is.Empty);
        Assert.That(rig.Served.Single().Connection.OwnLimits.MaxCalls, Is.EqualTo(1));
    }

    [Test]
    public async Task MoreCallsThanRunAndWait_AreRefusedByTheClient()
    {
        ShmRig rig = await StartAsync(running: 1, queued: 1);
        Task running = StartAsync(rig.Client, "a");
        Task waiting = StartAsync(rig.Client, "b");
        long before = LimitEvents.CountOf("MaxConcurrentCallsPerConnection");

        RpcException failure = await FailureOf(StartAsync(rig.Client, "c"));
        Release("a", "b");
        await Task.WhenAll(running, waiting).Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(LimitEvents.CountOf("MaxConcurrentCallsPerConnection"), Is.GreaterThan(before));
        Assert.That(
            failure.Status.Detail,
            Does.Contain("at most 2").And.Contain("MaxConcurrentCallsPerConnection")
                .And.Contain("MaxQueuedCallsPerConnection"));
    }

    // A method that ignores its token runs on after its call has ended, so the client has a free slot for a call more.
    [Test]
    public async Task MoreCallsThanMayWait_AreRefusedByTheServer()
    {
        ShmRig rig = await StartAsync(running: 1, queued: 1);
        using var cancel = new CancellationTokenSource();
        Task running = StartAsync(rig.Client, "a", new CallOptions(cancellationToken: cancel.Token));
        await Timeouts.Eventually(() => _begun.Count == 1);
        await cancel.CancelAsync();
        await FailureOf(running);
        await WhenClientHasPlaceAsync(rig);
        Task waiting = StartAsync(rig.Client, "b");
        await WaitForAsync(rig, waiting: 1);

        RpcException failure = await FailureOf(StartAsync(rig.Client, "c"));
        Release("a", "b");
        await waiting.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(
            failure.Status.Detail,
            Does.Contain("at most 1").And.Contain("MaxConcurrentCallsPerConnection")
                .And.Contain("MaxQueuedCallsPerConnection"));
        await Timeouts.Eventually(
            () => rig.Log.Of(LimitReached).Any(entry => entry.Message.StartsWith("MaxQueuedCallsPerConnection = 1")));
        Assert.That(_begun, Is.EqualTo((string[])["a", "b"]));
    }

    [Test]
    public async Task WaitingCall_ThatIsCancelledOrTooLate_LeavesItsPlace(
        [Values] bool isDeadline, [Values] bool isOfServer)
    {
        ShmRig rig = await StartAsync(running: 1, queued: 1, isOfServer);
        Task running = StartAsync(rig.Client, "a");
        await Timeouts.Eventually(() => _begun.Count == 1);
        using var cancel = new CancellationTokenSource();
        CallOptions options = isDeadline
            ? new CallOptions(deadline: DateTime.UtcNow.AddSeconds(2))
            : new CallOptions(cancellationToken: cancel.Token);
        Task given = StartAsync(rig.Client, "b", options);
        await WaitForAsync(rig, waiting: 1);
        await cancel.CancelAsync();

        RpcException failure = await FailureOf(given);
        await WaitForAsync(rig, waiting: 0);
        await WhenClientHasPlaceAsync(rig);
        Task next = StartAsync(rig.Client, "c");
        await WaitForAsync(rig, waiting: 1);
        Release("a", "c");
        await Task.WhenAll(running, next).Bounded();

        Assert.That(
            failure.StatusCode, Is.EqualTo(isDeadline ? StatusCode.DeadlineExceeded : StatusCode.Cancelled));
        Assert.That(_begun, Is.EqualTo((string[])["a", "c"]));
        Assert.That(Counts(rig), Is.EqualTo((0, 0)));
    }

    [Test]
    public async Task WaitingCall_OfAServerThatStops_IsRefusedAsUnseen([Values] bool isOfServer)
    {
        ShmRig rig = await StartAsync(running: 1, queued: 5, isOfServer);
        Task running = StartAsync(rig.Client, "a");
        await Timeouts.Eventually(() => _begun.Count == 1);
        Task waiting = StartAsync(rig.Client, "b");
        AsyncDuplexStreamingCall<Payload, Payload> stream = rig.Client.Duplex();
        await WaitForAsync(rig, waiting: 2);

        Task stopping = rig.Server.StopAsync();
        RpcException[] failures =
            [await FailureOf(waiting), await FailureOf(stream.ResponseStream.MoveNext(CancellationToken.None))];
        Release("a");
        await Task.WhenAll(running, stopping).Bounded();

        // The first was marked as not processed, and so was tried again: there is no server anymore.
        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Unavailable));
        Assert.That(failures[1].Status.Detail, Is.EqualTo("The server is shutting down."));
        Assert.That(_begun, Is.EqualTo((string[])["a"]));
    }

    [Test]
    public async Task LimitOfTheServer_HoldsForAllConnections_WhichTakeTurns()
    {
        ShmRig rig = await StartAsync(running: 1, queued: 10, isOfServer: true);
        ScriptClient[] clients =
            [.. Enumerable.Range(0, 3).Select(_ => new ScriptClient(rig.OpenChannel().CreateCallInvoker()))];
        var calls = new List<Task>();
        string[] names = ["a0", "a1", "a2", "a3", "b0", "b1", "c0"];
        foreach (string name in names)
        {
            calls.Add(StartAsync(clients[name[0] - 'a'], name));
            await Timeouts.Eventually(() => _begun.Count == 1 && Waiting(rig) == calls.Count - 1);
        }

        Release(names);
        await Task.WhenAll(calls).Bounded();

        Assert.That(_begun, Is.EqualTo((string[])["a0", "a1", "b0", "c0", "a2", "b1", "a3"]));
    }

    [Test]
    public async Task ConnectionThatCloses_TakesItsWaitingCallsWithIt([Values] bool isOfServer)
    {
        ShmRig rig = await StartAsync(running: 1, queued: 10, isOfServer);
        Task running = StartAsync(rig.Client, "a");
        await Timeouts.Eventually(() => _begun.Count == 1);
        ShmChannel other = rig.OpenChannel();
        Task[] waiting = [.. "bcd".Select(name => StartAsync(
            isOfServer ? new ScriptClient(other.CreateCallInvoker()) : rig.Client, $"{name}"))];
        await WaitForAsync(rig, waiting: 3);

        await (isOfServer ? other : rig.ShmChannel).DisposeAsync();
        foreach (Task call in waiting)
        {
            await FailureOf(call);
        }

        await Timeouts.Eventually(() => Waiting(rig) == 0);
        Release("a", "b", "c", "d");
        await (isOfServer ? running : Task.CompletedTask).Bounded();
        await Timeouts.Eventually(() => rig.Served.All(served => served.PendingOrRunning == 0));
        Assert.That(_begun, Is.EqualTo((string[])["a"]));
    }

    private static RigOptions Options(int running, int queued, bool isOfServer = false) => new()
    {
        Server = options =>
        {
            options.Limits.MaxConcurrentCallsPerConnection = isOfServer && queued > 0 ? 100 : running;
            options.Limits.MaxConcurrentCalls = isOfServer ? running : null;
            options.Limits.MaxQueuedCallsPerConnection = queued;
        },
    };

    private static int Waiting(ShmRig rig) => rig.Served.Sum(served => served.Queued);

    private static (int Running, int Waiting) Counts(ShmRig rig)
    {
        ServerConnection served = rig.Served.Single();
        return (served.PendingOrRunning, served.Queued);
    }

    private static Task WaitForAsync(ShmRig rig, int waiting) =>
        Timeouts.Eventually(() => Waiting(rig) == waiting, $"{waiting} calls wait");

    private static async Task StartAsync(ScriptClient client, string name, CallOptions options = default) =>
        await client.UnaryAsync(Payloads.Of(name), options);

    /// <summary>
    /// Waits until the client knows that a call has ended: until it sends one more, of a method that the server lacks.
    /// </summary>
    private static async Task WhenClientHasPlaceAsync(ShmRig rig)
    {
        Method<Payload, Payload> method = Script.Define(MethodType.Unary, "Nowhere");
        CallInvoker invoker = rig.Channel.CreateCallInvoker();
        long start = Stopwatch.GetTimestamp();
        StatusCode code;
        do
        {
            using AsyncUnaryCall<Payload> call = invoker.AsyncUnaryCall(method, null, default, Payloads.Of("x"));
            code = (await FailureOf(call.ResponseAsync)).StatusCode;
        }
        while (code == StatusCode.ResourceExhausted && Stopwatch.GetElapsedTime(start) < Timeouts.Wait);

        Assert.That(code, Is.EqualTo(StatusCode.Unimplemented));
    }

    /// <summary>
    /// Starts a server whose methods note their names and wait for their release, whatever their token says.
    /// </summary>
    private async Task<ShmRig> StartAsync(int running, int queued, bool isOfServer = false)
    {
        var script = new Script
        {
            Unary = async (request, _) =>
            {
                _begun.Enqueue(request.Text());
                await Source(request.Text()).Task;
                return request;
            },
        };
        ShmRig rig = await StartShmAsync(script, Options(running, queued, isOfServer));
        await rig.ShmChannel.ConnectAsync().Bounded(); // Calls that wait for a connection start in any order.
        return rig;
    }

    private TaskCompletionSource Source(string name) => _released.GetOrAdd(
        name, static _ => new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously));

    private void Release(params string[] names)
    {
        foreach (string name in names)
        {
            Source(name).TrySetResult();
        }
    }
}
