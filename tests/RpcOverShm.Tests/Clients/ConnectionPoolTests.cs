using Grpc.Core;
using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;
using RpcOverShm.Tests.Sending;

namespace RpcOverShm.Tests.Clients;

/// <summary>
/// The choice among the connections of a channel on a machine with sixteen processors, which may have four. Servers
/// worked by hand leave calls unanswered, so their threads keep the reader role.
/// </summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class ConnectionPoolTests
{
    private const int Processors = 16;

    private readonly LogGuard _log = new();
    private readonly List<(TestThread Thread, RecordingCall Call, RawPeer Server)> _busy = [];
    private TaskCompletionSource _mayRead = new();

    [TestCase(1, 2)]
    [TestCase(8, 2)]
    [TestCase(12, 3)]
    [TestCase(Processors, 4)]
    [TestCase(32, 8)]
    [TestCase(256, 8)]
    public void MostConnections_OfSoManyProcessors_AreAQuarterOfThem(int processors, int most) =>
        Assert.That(ConnectionPoolSettings.For(processors).MostConnections, Is.EqualTo(most));

    [Test]
    public async Task Callers_WhoFindNoFreeReader_GetOneMoreConnectionAtATimeUpToTheMost()
    {
        await using SubchannelRig rig = await ConnectAsync();
        ConnectionPool pool = PoolOf(rig);
        for (int count = 1; count <= 4; count++)
        {
            Connection newest = rig.Subchannel.Open[^1];
            RawPeer server = await TakeSettledAsync(rig, newest);
            Assert.That(Choose(pool), Is.SameAs(newest), "The others have a reader.");
            Occupy(newest, server);
            int expected = Math.Min(count + 1, 4);
            await Timeouts.Eventually(() => WaitOften(pool) && rig.Subchannel.Open.Length == expected);
        }

        WaitOften(pool);
        WaitOften(pool);

        Assert.That(rig.Subchannel.Open, Has.Length.EqualTo(4).And.Unique);
        Assert.That(rig.Subchannel.State, Is.EqualTo(ConnectivityState.Ready));
        End();
    }

    [Test]
    public async Task FewWaits_OpenNothing()
    {
        await using SubchannelRig rig = await ConnectAsync();
        ConnectionPool pool = PoolOf(rig);
        Connection only = rig.Subchannel.Open[0];
        Occupy(only, await TakeSettledAsync(rig, only));

        Connection[] chosen = [.. Enumerable.Range(0, ConnectionDemand.WaitsToGrow - 1).Select(_ => Choose(pool))];

        Assert.That(chosen, Is.All.SameAs(only));
        Assert.That(rig.TryTakeServer(), Is.Null);
        End();
    }

    [Test]
    public async Task Thread_ThatHasFoundAConnection_KeepsItWhileItsReaderIsFree()
    {
        await using SubchannelRig rig = await ConnectAsync();
        ConnectionPool pool = PoolOf(rig);
        Connection first = rig.Subchannel.Open[0];
        RawPeer server = await TakeSettledAsync(rig, first);
        Connection second = (await rig.Subchannel.AddExtraAsync(CancellationToken.None))!;
        RawPeer secondServer = await TakeSettledAsync(rig, second);
        Connection third = (await rig.Subchannel.AddExtraAsync(CancellationToken.None))!;
        RawPeer thirdServer = await TakeSettledAsync(rig, third);
        var chosen = new List<Connection>();

        // The choice belongs to a thread, and a test may continue on another one.
        TestThread.RunAll("caller", 1, _ =>
        {
            chosen.Add(Choose(pool));
            Occupy(first, server);
            chosen.AddRange(Choose(pool), Choose(pool));
            End();
            chosen.Add(Choose(pool));
            Occupy(first, server);
            Occupy(second, secondServer);
            chosen.Add(Choose(pool));
            Occupy(third, thirdServer);
            chosen.Add(Choose(pool));
            End();
        });

        Assert.That(chosen, Is.EqualTo(new[] { first, second, second, second, third, third }));
    }

    [Test]
    public async Task UserCode_ThatRunsInline_TakesTheConnectionThatItsThreadReads()
    {
        await using SubchannelRig rig = await ConnectAsync();
        ConnectionPool pool = PoolOf(rig);
        await TakeSettledAsync(rig, rig.Subchannel.Open[0]);
        Connection extra = (await rig.Subchannel.AddExtraAsync(CancellationToken.None))!;
        RawPeer server = rig.TakeServer();
        var chosen = new TaskCompletionSource<(bool IsReadHere, Connection Choice)>();
        var call = new RecordingCall
        {
            OnEvent = (call, _) => call.AddUserCode(PendingUserCode.Complete),
            OnWork = _ => chosen.TrySetResult((extra.IsReadHere, Choose(pool))),
        };

        extra.StartCall(call, FrameFlags.None, "head"u8, default);
        server.Send(new RawFrame(FrameKind.End, server.Receive().Call));

        Assert.That(await chosen.Task.Bounded(), Is.EqualTo((true, extra)));
        Assert.That(rig.Subchannel.Open.Count(one => one.IsReadHere), Is.Zero, "This thread reads nothing.");
    }

    [Test]
    public async Task AwaitedCalls_TakeTheFirstConnection_UntilItsBacklogExceedsTheBound()
    {
        await using SubchannelRig rig = await ConnectAsync(maxCalls: 1000);
        ConnectionPool pool = PoolOf(rig);
        Connection first = rig.Subchannel.Open[0];
        Connection extra = (await rig.Subchannel.AddExtraAsync(CancellationToken.None))!;

        Load(first, ConnectionPool.AwaitedBacklog);
        Connection atBound = await pool.GetAsync(isWaitForReady: false, isBlocking: false);
        Load(first, 1);
        Connection aboveIt = await pool.GetAsync(isWaitForReady: false, isBlocking: false);
        Load(extra, ConnectionPool.AwaitedBacklog + 1);
        Connection aboveBoth = await pool.GetAsync(isWaitForReady: false, isBlocking: false);

        Assert.That(new[] { atBound, aboveIt, aboveBoth }, Is.EqualTo(new[] { first, extra, first }));
    }

    [Test]
    public async Task RetiredConnection_EndsItsCalls_TakesNoOther_AndCloses()
    {
        await using SubchannelRig rig = await ConnectAsync();
        rig.TakeServer();
        Connection extra = (await rig.Subchannel.AddExtraAsync(CancellationToken.None))!;
        RawPeer server = await TakeSettledAsync(rig, extra);
        Occupy(extra, server);

        Task retired = rig.Subchannel.RetireExtraAsync(extra);
        StartResult late = extra.StartCall(new RecordingCall(), FrameFlags.None, "head"u8, default);

        Assert.That(late, Is.EqualTo(StartResult.Closed));
        Assert.That(rig.Subchannel.Open, Has.Length.EqualTo(1).And.None.SameAs(extra));
        Assert.That((retired.IsCompleted, extra.CloseReason), Is.EqualTo((false, (object?)null)));
        End();
        await retired.Bounded();
        await extra.Closed.Bounded();
        Assert.That(server.Receive().Kind, Is.EqualTo(FrameKind.GoAway), "The server sees an orderly end.");
    }

    [Test]
    public async Task FirstConnection_IsNeverRetired()
    {
        await using SubchannelRig rig = await ConnectAsync();
        Connection first = rig.Subchannel.Open[0];

        await rig.Subchannel.RetireExtraAsync(first).Bounded();

        Assert.That(rig.Subchannel.Open, Is.EqualTo(new[] { first }));
        Assert.That(first.IsOpenForCalls);
    }

    [Test]
    public async Task GoAway_OnOneConnection_LeavesThemAll()
    {
        await using SubchannelRig rig = await ConnectAsync();
        Connection first = rig.Subchannel.Open[0];
        RawPeer server = await TakeSettledAsync(rig, first);
        Connection extra = (await rig.Subchannel.AddExtraAsync(CancellationToken.None))!;
        RawPeer extraServer = rig.TakeServer();
        Occupy(first, server);

        extraServer.Send(new RawFrame(FrameKind.GoAway));

        await extra.Closed.Bounded();
        Assert.That(rig.Subchannel.Open, Is.Empty);
        Assert.That(rig.Subchannel.State, Is.EqualTo(ConnectivityState.Idle));
        Assert.That(
            first.StartCall(new RecordingCall(), FrameFlags.None, "head"u8, default), Is.EqualTo(StartResult.Closed));
        Assert.That(first.CloseReason, Is.Null, "Its call has not ended.");
        End();
        await first.Closed.Bounded();
    }

    [Test]
    public async Task LossOfTheFirst_MakesTheOldestExtraTheFirst_AndTheStateStaysReady()
    {
        await using SubchannelRig rig = await ConnectAsync();
        RawPeer server = rig.TakeServer();
        Connection extra = (await rig.Subchannel.AddExtraAsync(CancellationToken.None))!;
        RawPeer extraServer = rig.TakeServer();
        Task changed = rig.Subchannel.WhenNotAsync(ConnectivityState.Ready, CancellationToken.None);
        Connection first = rig.Subchannel.Open[0];

        server.Link.Close(new CloseReason(CloseKind.Local, "The first is lost."));
        await first.Closed.Bounded();
        await Timeouts.Eventually(() => rig.Subchannel.Open is [Connection left] && left == extra);

        Assert.That(await rig.GetAsync().Bounded(), Is.SameAs(extra));
        Assert.That(changed.IsCompleted, Is.False);
        extraServer.Link.Close(new CloseReason(CloseKind.Local, "The last is lost."));
        await changed.Bounded();
        Assert.That(rig.Subchannel.State, Is.EqualTo(ConnectivityState.Idle));
    }

    [Test]
    public async Task Extra_WithoutAConnectionBesideIt_IsNotUsed()
    {
        await using var rig = new SubchannelRig();
        rig.Listen();

        Assert.That(await rig.Subchannel.AddExtraAsync(CancellationToken.None).Bounded(), Is.Null);

        Assert.That(rig.Subchannel.Open, Is.Empty);
    }

    [Test]
    public async Task Extra_WhoseSessionEndsDuringItsHandshake_IsNotUsed()
    {
        await using SubchannelRig rig = await ConnectAsync();
        _ = rig.TakeServer();
        Connection current = await rig.GetAsync().Bounded();
        rig.OnLink = () =>
        {
            current.Close(new CloseReason(CloseKind.PeerLost, "The current one is lost."));
            Assert.That(() => rig.Subchannel.Open, Is.Empty.After(20_000, 1));
        };

        Assert.That(await rig.Subchannel.AddExtraAsync(CancellationToken.None).Bounded(), Is.Null);

        Assert.That(rig.Subchannel.Open, Is.Empty);
        Assert.That(rig.TakeServer().Receive().Kind, Is.EqualTo(FrameKind.GoAway));
    }

    [Test]
    public async Task Extra_OfAChannelThatIsShutDownMeanwhile_IsNotUsed()
    {
        await using SubchannelRig rig = await ConnectAsync();
        _ = rig.TakeServer();
        rig.OnLink = () => rig.Subchannel.ShutDown();

        Assert.That(
            async () => await rig.Subchannel.AddExtraAsync(CancellationToken.None).Bounded(),
            Throws.TypeOf<ConnectException>().With.Message.Contains("is not connected to that process"));

        Assert.That(rig.TakeServer().Receive().Kind, Is.EqualTo(FrameKind.GoAway));
    }

    private static async Task<SubchannelRig> ConnectAsync(uint maxCalls = 10)
    {
        var rig = new SubchannelRig();
        rig.Listen(maxCalls);
        await rig.GetAsync().Bounded();
        return rig;
    }

    private static void Load(Connection connection, int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Assert.That(
                connection.StartCall(new RecordingCall(), FrameFlags.None, "head"u8, default),
                Is.EqualTo(StartResult.Started));
        }
    }

    /// <summary>
    /// Returns the server of a new connection, whose own reader has read an answer and sleeps without the role.
    /// </summary>
    private static async Task<RawPeer> TakeSettledAsync(SubchannelRig rig, Connection connection)
    {
        RawPeer server = rig.TakeServer();
        var call = new RecordingCall();
        connection.StartCall(call, FrameFlags.None, "head"u8, default);
        server.Send(new RawFrame(FrameKind.End, server.Receive().Call));
        await Timeouts.Eventually(() => call.IsDone && connection.IsReaderFree);
        return server;
    }

    private static Connection Choose(ConnectionPool pool) =>
        pool.GetAsync(isWaitForReady: false, isBlocking: true).AsTask().GetAwaiter().GetResult();

    private static bool WaitOften(ConnectionPool pool)
    {
        for (int i = 0; i < 2 * ConnectionDemand.WaitsToGrow; i++)
        {
            Choose(pool);
        }

        return true;
    }

    private ConnectionPool PoolOf(SubchannelRig rig) =>
        new(rig.Subchannel, ConnectionPoolSettings.For(Processors), _log);

    /// <summary>
    /// Blocks a thread in a call on the connection. It keeps the reader role, because it is still at the headers of the
    /// answer. If it was so late that the event loop had to read them, another thread tries.
    /// </summary>
    private void Occupy(Connection connection, RawPeer server)
    {
        int reader = 0;
        bool isOccupied;
        do
        {
            var isReadByCaller = new TaskCompletionSource<bool>();
            var call = new RecordingCall(waiter: new AutoResetLatch());
            call.OnEvent = (_, what) =>
            {
                bool isCaller = Environment.CurrentManagedThreadId == Volatile.Read(ref reader);
                if (what.StartsWith("headers", StringComparison.Ordinal) && isReadByCaller.TrySetResult(isCaller)
                    && isCaller)
                {
                    _mayRead.Task.Wait();
                }
            };
            TestThread thread = TestThread.Start("reader", () =>
            {
                Volatile.Write(ref reader, Environment.CurrentManagedThreadId);
                connection.RunCall(call, FrameFlags.None, "head"u8, default, null);
            });
            Assert.That(server.Receive().Call, Is.EqualTo(call.Id));
            server.Send(new RawFrame(FrameKind.Headers, call.Id));
            isOccupied = isReadByCaller.Task.Bounded().GetAwaiter().GetResult();
            if (isOccupied)
            {
                _busy.Add((thread, call, server));
            }
            else
            {
                server.Send(new RawFrame(FrameKind.End, call.Id));
                thread.Join();
            }
        }
        while (!isOccupied);
    }

    /// <summary>Answers the calls of the blocked threads.</summary>
    private void End()
    {
        _mayRead.SetResult();
        foreach ((TestThread thread, RecordingCall call, RawPeer server) in _busy)
        {
            server.Send(new RawFrame(FrameKind.End, call.Id));
            thread.Join();
        }

        _mayRead = new TaskCompletionSource();
        _busy.Clear();
    }
}
