using System.Diagnostics;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;
using RpcOverShm.Servers;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.OneWay;

/// <summary>One-way calls when their client or their server goes.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class OneWayLifetimeTests : OneWayFixture
{
    [Test]
    public async Task Calls_OfAClientThatHasLeft_RunToTheirEnd_AlsoThoseThatWait()
    {
        string[] sent = ["hold", "a", "b", "c"];
        ShmRig rig = await StartOneWayAsync(options => options.Limits.MaxConcurrentCallsPerConnection = 1);
        foreach (string text in sent)
        {
            await OneWay(rig).UnaryAsync(Payloads.Of(text)).ResponseAsync.Bounded();
        }

        await rig.ShmChannel.DisposeAsync();
        await Timeouts.Eventually(() => rig.Served.All(one => one.Connection.CloseReason is not null));
        await Timeouts.Eventually(() => Begun.Length == 1);
        Release();

        await Timeouts.Eventually(() => Ended == sent.Length);
        Assert.That(Begun, Is.EqualTo(sent));
        Assert.That(Failures, Is.Empty);
        await Timeouts.Eventually(() => rig.Served.Count == 0, "the server forgets the connection");
    }

    [Test]
    public async Task Call_BeyondTheCallsThatTheServerTakes_WaitsForASlot([Values] bool isBlocking)
    {
        ShmRig rig = await StartOneWayAsync(options =>
        {
            options.Limits.MaxConcurrentCallsPerConnection = 1;
            options.Limits.MaxQueuedCallsPerConnection = 0;
        });
        using AsyncDuplexStreamingCall<Payload, Payload> stream = rig.Client.Duplex();
        await stream.RequestStream.WriteAsync(Payloads.Empty).Bounded();
        Assert.That(await stream.ResponseStream.MoveNext().Bounded(), Is.True);

        var options = new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(100));
        RpcException failure = await FailureOf(isBlocking
            ? Timeouts.OnThread(() => OneWay(rig).Unary(Payloads.Of("late"), options))
            : OneWay(rig).UnaryAsync(Payloads.Of("late"), options).ResponseAsync);
        Task waiting = isBlocking
            ? Timeouts.OnThread(() => OneWay(rig).Unary(Payloads.Of("x")))
            : OneWay(rig).UnaryAsync(Payloads.Of("x")).ResponseAsync;
        await stream.RequestStream.CompleteAsync().Bounded();
        Assert.That(await stream.ResponseStream.MoveNext().Bounded(), Is.False);
        await waiting.Bounded();

        await Timeouts.Eventually(() => Begun.Length == 1);
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(Begun, Is.EqualTo(["x"]));
    }

    [Test]
    public async Task Newcomer_WhileCallsOfClientsThatHaveLeftRun_IsServed()
    {
        const int Places = 3;
        ShmRig rig = await StartOneWayAsync(options =>
        {
            options.Listen.MaxConnections = Places;
            options.Listen.MaxConnectionsPerProcess = Places;
        });
        await rig.ShmChannel.DisposeAsync();
        for (int i = 0; i < Places; i++)
        {
            await using ShmChannel leaving = rig.OpenChannel();
            var client = new ScriptClient(leaving.CreateOneWayInvoker());
            await client.UnaryAsync(Payloads.Of("hold")).ResponseAsync.Bounded();
        }

        await Timeouts.Eventually(
            () => Begun.Length == Places && rig.Served.All(one => one.Connection.CloseReason is not null));
        var newcomer = new ScriptClient(rig.OpenChannel().CreateCallInvoker());

        Payload answer = await newcomer.UnaryAsync(Payloads.Of("x")).ResponseAsync.Bounded();

        Assert.That(answer.Text(), Is.EqualTo("x"));
        Assert.That(Ended, Is.EqualTo(1), "the calls that were left behind still run");
        Release();
        await Timeouts.Eventually(() => Ended == Places + 1);
    }

    [Test]
    public async Task CallsOfClientsThatLeave_CountForTheirUser_UntilTheyHaveEnded()
    {
        const int Leaving = 3;
        const long Limit = 256 << 10;
        ShmRig rig = await StartOneWayAsync(
            options =>
            {
                options.Limits.MaxConnectionBufferSize = Limit;
                options.MaxReceiveMessageSize = (int)Limit / 2;
            });
        for (int i = 0; i < Leaving; i++)
        {
            await using ShmChannel leaving = rig.OpenChannel();
            ScriptClient client = OneWay(leaving);
            for (int sent = 0; sent < 100; sent++)
            {
                await client.UnaryAsync(Payloads.Of("hold")).ResponseAsync.Bounded();
            }

            await Timeouts.Eventually(() => Begun.Length == (i + 1) * 100);
        }

        await Timeouts.Eventually(() => rig.Served.Count(one => one.Connection.CloseReason is not null) == Leaving);
        await OneWay(rig).UnaryAsync(Payloads.Of("refused")).ResponseAsync.Bounded();
        Failure failure = await WaitForFailureAsync();
        string answer = (await rig.Client.UnaryAsync(Payloads.Of("x")).ResponseAsync.Bounded()).Text();
        Release();
        await Timeouts.Eventually(() => Ended == (Leaving * 100) + 1);
        await OneWay(rig).UnaryAsync(Payloads.Of("taken")).ResponseAsync.Bounded();

        await Timeouts.Eventually(() => Begun.Contains("taken"));
        Assert.That(failure.Status.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(failure.Status.Detail, Does.Contain("MaxConnectionBufferSize"));
        Assert.That(answer, Is.EqualTo("x"), "Other calls are served.");
        Assert.That(Begun, Does.Not.Contain("refused"));
    }

    // Their Ends wait behind an answer that the client does not read.
    [Test]
    public async Task RefusedCalls_OfAClientThatLeaves_DoNotCountForTheirUser()
    {
        const int Calls = 200;
        const int Limit = 256 << 10;
        ShmRig rig = await StartOneWayAsync(
            new Script
            {
                Unary = (request, context) => request.Text() == "answer"
                    ? Task.FromResult(Payloads.OfSize(Limit / 2))
                    : Script.Unary!(request, context),
            },
            options =>
            {
                options.Limits.MaxConnectionBufferSize = Limit;
                options.MaxReceiveMessageSize = 1000;
                options.Ring.Capacity = 64 << 10;
            });
        using (RawPeer peer = await RawPeer.ConnectAsync(rig.Place))
        {
            byte[] tooLarge = Message(new string('x', 1200));
            peer.Start(new CallId(0, 1, false), UnaryHead, Message("answer"));
            await Timeouts.Eventually(() => peer.PeerTail > 32 << 10, "the answer is in the ring");
            for (int slot = 1; slot <= Calls; slot++)
            {
                Assert.That(await peer.SendWhenThereIsSpaceAsync(
                    WholeCall(new CallId(slot, 1, false), UnaryHead, tooLarge, FrameFlags.OneWay)));
            }

            await peer.ReadByVictimAsync();
            Assert.That(rig.Served.Single().Connection.IncomingCount, Is.GreaterThanOrEqualTo(Calls), "Ends that wait");
        }

        await Timeouts.Eventually(() => rig.Served.Count == 0);
        await OneWay(rig).UnaryAsync(Payloads.Of("taken")).ResponseAsync.Bounded();

        await Timeouts.Eventually(() => Begun.Contains("taken"));
        Assert.That(Failures, Is.Empty);
    }

    [Test]
    public async Task CallOfAClientThatHasLeft_KeepsNoOtherCall_AndIsForgottenAtItsEnd()
    {
        ShmRig rig = await StartOneWayAsync();
        await OneWay(rig).UnaryAsync(Payloads.Of("hold")).ResponseAsync.Bounded();
        using AsyncUnaryCall<Payload> other = rig.Client.UnaryAsync(Payloads.Of("hold"));
        await Timeouts.Eventually(() => Begun.Length == 2);
        ServerConnection served = rig.Served.Single();

        await rig.ShmChannel.DisposeAsync();
        await served.Connection.Closed.Bounded();
        int kept = served.Connection.Sender.Incoming.Snapshot().Length;
        Release();

        await Timeouts.Eventually(() => served.Connection.Sender.Incoming.Snapshot().Length == 0);
        Assert.That(kept, Is.EqualTo(1));
    }

    [Test]
    public async Task Calls_OfAChannelThatIsDisposed_AreNotReported_AsTheyGoOn()
    {
        ShmRig rig = await StartOneWayAsync();
        await OneWay(rig).UnaryAsync(Payloads.Of("hold")).ResponseAsync.Bounded();
        await Timeouts.Eventually(() => Begun.Length == 1);

        await rig.ShmChannel.DisposeAsync();
        Release();

        await Timeouts.Eventually(() => Ended == 1);
        Assert.That(Failures, Is.Empty);
    }

    [Test]
    public async Task ServerThatStops_WaitsForCalls_AlsoForThoseThatWait([Values] bool hasClientLeft)
    {
        string[] sent = ["hold", "a", "b"];
        ShmRig rig = await StartOneWayAsync(options => options.Limits.MaxConcurrentCallsPerConnection = 1);
        foreach (string text in sent)
        {
            await OneWay(rig).UnaryAsync(Payloads.Of(text)).ResponseAsync.Bounded();
        }

        await Timeouts.Eventually(() => rig.Served.Sum(one => one.PendingOrRunning) == sent.Length);
        if (hasClientLeft)
        {
            await rig.ShmChannel.DisposeAsync();
            await Timeouts.Eventually(() => rig.Served.All(one => one.Connection.CloseReason is not null));
        }

        Task stopping = rig.Server.StopAsync();
        bool isWaiting = !stopping.IsCompleted;
        Release();
        await stopping.Bounded();

        Assert.That(isWaiting, Is.True);
        Assert.That((Ended, Failures.Length), Is.EqualTo((sent.Length, 0)));
        Assert.That(Begun, Is.EqualTo(sent));
    }

    [Test]
    public async Task ServerThatStops_CancelsAndReportsCalls_AfterItsGracePeriod(
        [Values] bool hasClientLeft, [Values(0, 200)] int graceMs)
    {
        ShmRig rig = await StartOneWayAsync(options => options.Limits.MaxConcurrentCallsPerConnection = 1);
        await OneWay(rig).UnaryAsync(Payloads.Of("wait")).ResponseAsync.Bounded();
        await OneWay(rig).UnaryAsync(Payloads.Of("never")).ResponseAsync.Bounded();
        await Timeouts.Eventually(() => rig.Served.Sum(one => one.PendingOrRunning) == 2 && Begun.Length == 1);
        if (hasClientLeft)
        {
            await rig.ShmChannel.DisposeAsync();
            await Timeouts.Eventually(() => rig.Served.All(one => one.Connection.CloseReason is not null));
        }

        var grace = TimeSpan.FromMilliseconds(graceMs);
        long before = Stopwatch.GetTimestamp();
        await rig.Server.StopAsync(grace).Bounded();

        // .NET's timers count in ticks of the system, and may be early by one.
        Assert.That(Stopwatch.GetElapsedTime(before), Is.GreaterThanOrEqualTo(grace * 0.9));

        await Timeouts.Eventually(() => rig.Log.Of(OneWayCallFailed).Count == 2);
        Assert.That(rig.Log.Of(OneWayCallFailed).Select(entry => entry.Message), Is.All.Contains("Unavailable"));
        await Timeouts.Eventually(() => Failures.Length == (hasClientLeft ? 0 : 2));
        Assert.That(
            Failures.Select(failure => failure.Status.StatusCode), Is.All.EqualTo(StatusCode.Unavailable));
        await Timeouts.Eventually(() => Ended == 1);
        Assert.That(Begun, Is.EqualTo((string[])["wait"]));
    }

    [Test]
    public async Task WaitingCall_WhenItsServerStops_GoesToTheNextOne()
    {
        ShmRig rig = await StartOneWayAsync();
        (int sent, Task waiting) = await FillAsync(OneWay(rig)).Bounded();
        Task next = OneWay(rig)
            .UnaryAsync(Payloads.Of("next"), new CallOptions().WithWaitForReady()).ResponseAsync;
        await Timeouts.Eventually(() => Begun.Length == sent);

        Task stopping = rig.Server.StopAsync(TimeSpan.Zero);
        await FailureOrSuccessAsync(waiting);
        Release();
        await stopping.Bounded();
        await rig.StartServerAsync(Script.Build());
        await next.Bounded();

        await Timeouts.Eventually(() => Begun.Contains("next"));
        Assert.That(Begun.Count(text => text == "next"), Is.EqualTo(1));
    }

    // It finds the server gone, or the next one.
    private static async Task FailureOrSuccessAsync(Task call)
    {
        try
        {
            await call.Bounded();
        }
        catch (RpcException exception)
        {
            Assert.That(exception.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        }
    }
}
