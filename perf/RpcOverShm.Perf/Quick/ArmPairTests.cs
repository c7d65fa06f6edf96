namespace RpcOverShm.Perf.Quick;

/// <summary>Every arm in every form carries a few messages; a failure is reported and leaves nothing behind.</summary>
[TestFixture]
[Category("Quick")]
public sealed class ArmPairTests
{
    private static readonly TimeSpan s_deadline = TimeSpan.FromSeconds(20);

    private static readonly string[] s_withAnswers =
    [
        "raw-ring", "raw-stream", "shm-raw", "shm-payload", "shm-loan", "shm-protobuf", "pipe", "pipe-protobuf",
        "grpc-dotnet-uds", "grpc-core-uds", "zeromq",
    ];

    private static readonly int[] s_recordSizes = [.. RecordKind.All.Select(kind => kind.SizeBytes)];

    private static readonly string[] s_queues = ["posix-mq", "zeromq"];

    private static IEnumerable<string> ArmsWithAnswers => s_withAnswers;

    private static IEnumerable<string> ArmNames => ArmCatalog.All.Select(arm => arm.Name);

    [TestCaseSource(nameof(ArmNames))]
    public async Task RunAsync_EveryForm_CountsEveryMessageOnBothSides(string name)
    {
        IArm arm = ArmCatalog.Find(name);
        await using ArmPair pair = await StartAsync($"{name}.quick", name);
        foreach (CallerKind caller in Enum.GetValues<CallerKind>())
        {
            foreach (LoadShape shape in Enum.GetValues<LoadShape>().Where(shape => arm.Supports(shape, caller)))
            {
                // Larger than any buffer on the way, and not a multiple of any; for arms of records all kinds.
                foreach (int size in IsOfRecords(name) ? s_recordSizes : [Math.Min(300_001, arm.LargestBytes)])
                {
                    SliceResult slice = await RunAsync(pair, Order(shape, caller, size));
                    Assert.That(slice.Client.Measured, Is.Positive);
                    Assert.That(slice.Client.ElapsedTicks, Is.Positive);
                }
            }
        }
    }

    [Test]
    public async Task RunAsync_SeveralCallers_AddsThemUp()
    {
        await using ArmPair pair = await StartAsync("callers.quick", "shm-protobuf");
        LoadOrder order = Order(LoadShape.Echo, CallerKind.Async, 100) with { Callers = 8 };
        SliceResult slice = await RunAsync(pair, order);
        Assert.That(slice.Client.Measured, Is.GreaterThanOrEqualTo(8));
    }

    [TestCaseSource(nameof(ArmsWithAnswers))]
    public async Task RunAsync_AnswersOfOtherSizes_AreChecked(string name)
    {
        await using ArmPair pair = await StartAsync($"{name}.answers.quick", name);
        LoadOrder order = Order(LoadShape.Echo, CallerKind.Blocking, 100);
        await RunAsync(pair, order with { ReplyBytes = 100_000, Calls = 5 });
        await RunAsync(pair, order with { SizeBytes = 8, ReplyBytes = 128, Calls = 5 });
        await RunAsync(pair, order with { SizeBytes = 128, ReplyBytes = 8, Calls = 5 });
        SliceResult mixed = await RunAsync(pair, order with { SizeBytes = LoadOrder.Mixed, Calls = 50 });
        Assert.That(mixed.Client.Measured, Is.InRange(1, 50));
    }

    [TestCase("shm-protobuf")]
    [TestCase("uds")]
    [TestCase("grpc-dotnet-uds")]
    [Platform("Linux")]
    public async Task RunAsync_WithWork_TakesThatMuchOfTheServer(string name)
    {
        await using ArmPair pair = await StartAsync($"{name}.work.quick", name);
        foreach (CallerKind caller in Enum.GetValues<CallerKind>())
        {
            LoadOrder order = Order(LoadShape.Echo, caller, 100) with { Callers = 2, WorkMicroseconds = 2000 };
            SliceResult slice = await RunAsync(pair, order);
            Assert.That(slice.Server.Used.CpuMicroseconds, Is.GreaterThanOrEqualTo(slice.Client.All * 2000));
        }
    }

    [Test]
    public async Task RunAsync_OneClientWhoseMethodsBlock_KeepsItsTimesApart()
    {
        await using var fleet = new Fleet([], clients: 2);
        await using ArmPair pair = fleet.MakePair("blocks.quick", "shm-raw-blocking");
        await pair.StartAsync();
        LoadOrder others = Order(LoadShape.Echo, CallerKind.Blocking, 100);
        for (int i = 0; i < 3; i++)
        {
            SliceResult slice = await pair.RunAsync([others, others with { Blocks = true }]);
            Assert.That(slice.Problem(), Is.Null);
            long slow = slice.Client.Measured - slice.First.Measured;
            Assert.That(slow, Is.InRange(1, 1 + (others.Duration / ServedWork.Blocked)));
            Assert.That(slice.First.Measured, Is.Positive);
        }
    }

    [Test]
    public async Task RunAsync_OnSchedule_TakesTimesFromTheIntendedStart()
    {
        await using ArmPair pair = await StartAsync("schedule.quick", "raw-stream");
        LoadOrder order = Order(LoadShape.Echo, CallerKind.Blocking, 100) with { OfferedPerSecond = 1000 };
        SliceResult slice = await RunAsync(pair, order with { Duration = TimeSpan.FromMilliseconds(200) });
        Assert.That(slice.Client.Measured, Is.InRange(1, 220));
        Assert.That(slice.Client.Uncorrected.Count, Is.EqualTo(slice.Client.Measured));
        Assert.That(slice.Client.Times.Sum, Is.GreaterThanOrEqualTo(slice.Client.Uncorrected.Sum));
    }

    [TestCase(CallerKind.Blocking)]
    [TestCase(CallerKind.Async)]
    public async Task RunAsync_WithGap_IsSilentBetweenCalls(object caller)
    {
        await using ArmPair pair = await StartAsync($"gap.{caller}.quick", "shm-protobuf");
        LoadOrder order = Order(LoadShape.Echo, (CallerKind)caller, 100) with
        {
            Gap = TimeSpan.FromMilliseconds(10),
            Duration = TimeSpan.FromMilliseconds(100),
        };
        SliceResult slice = await RunAsync(pair, order);
        Assert.That(slice.Client.Measured, Is.InRange(1, 11));
    }

    [TestCase(LoadShape.Pump)]
    [TestCase(LoadShape.Drain)]
    public async Task RunAsync_SeveralClients_AddsThemUp(object shape)
    {
        await using var crowd = new Fleet(["shm-protobuf"], clients: 3);
        await crowd.StartAsync();
        SliceResult slice = await RunAsync(crowd.Pairs[0], Order((LoadShape)shape, CallerKind.Async, 1000), clients: 3);
        Assert.That(slice.Client.Measured, Is.EqualTo(3 * 2 * PumpSink.GroupOf(1000)));
    }

    [Test]
    public async Task TooSmall_MessageBeyondAnArmsLimit_LeavesItOut()
    {
        await using var fleet = new Fleet(s_queues);
        await fleet.StartAsync();
        CellRecorder Cell(int size) => new(
            new CellPlan("limits", new LoadOrder(LoadShape.Echo, CallerKind.Blocking, size))
            {
                Arms = s_queues,
            },
            fleet,
            PerfRun.Current.Settings);

        int most = ArmCatalog.Find("posix-mq").LargestBytes;
        Assert.That(Cell(most).Entrants.Select(entrant => entrant.Label), Is.EqualTo(s_queues));
        Assert.That(Cell(most).TooSmall, Is.Empty);
        Assert.That(Cell(most + 1).Entrants.Select(entrant => entrant.Label), Is.EqualTo(s_queues[1..]));
        Assert.That(Cell(most + 1).TooSmall.Select(arm => arm.Name), Is.EqualTo(s_queues[..1]));
    }

    [Test]
    public async Task Call_FreshClient_SaysWhenEachAnswerCame()
    {
        await using PeerProcess server = await PeerProcess.StartAsync("server");
        string place = Path.Combine(Path.GetTempPath(), $"rpcovershm-call-{Environment.ProcessId}");
        LineWriter serve = new LineWriter(PeerVerbs.Serve).Add("shm-protobuf").Add(place);
        string served = (await server.AskAsync(serve, s_deadline)).NextText();
        await using PeerProcess client = await PeerProcess.StartAsync("client");
        long before = Stopwatch.GetTimestamp();
        LineReader answer = await client.AskAsync(
            new LineWriter(PeerVerbs.Call).Add("shm-protobuf").Add(served).Add(2), s_deadline);
        (long first, long compiledByFirst, long second, long compiledBySecond) =
            (answer.NextNumber(), answer.NextNumber(), answer.NextNumber(), answer.NextNumber());
        long[] ticks = [before, first, second, Stopwatch.GetTimestamp()];
        Assert.That(ticks, Is.Ordered);
        Assert.That(compiledByFirst, Is.InRange(1, compiledBySecond));
        var counted = PeerSample.Read(await server.AskAsync(new LineWriter(PeerVerbs.Sample), s_deadline));
        Assert.That((counted.Messages, counted.WrongBytes), Is.EqualTo((2L, 0L)));
    }

    [TestCase("shm-protobuf")]
    [TestCase("uds")]
    [TestCase("grpc-dotnet-uds")]
    public async Task WidenAsync_FurtherConnections_AreUsedInTurn(string arm)
    {
        await using ArmPair pair = await StartAsync($"{arm}.wide.quick", arm);
        TimeSpan time = await pair.WidenAsync(5, callsEach: 3);
        (FootprintSample server, FootprintSample client) = await pair.FootprintAsync();
        Assert.That((time > TimeSpan.Zero, server.PssBytes > 0, client.Threads > 0), Is.EqualTo((true, true, true)));
        foreach (CallerKind caller in Enum.GetValues<CallerKind>())
        {
            foreach (int callers in (int[])[1, 4, 16])
            {
                LoadOrder order = Order(LoadShape.Echo, caller, 100) with { Callers = callers, Connections = 6 };
                await RunAsync(pair, order);
            }
        }

        LoadOrder tooMany = Order(LoadShape.Echo, CallerKind.Async, 100) with { Connections = 7 };
        Assert.That(
            () => pair.RunAsync(tooMany), Throws.TypeOf<PeerException>().With.Message.Contains("6 connections, not 7"));
    }

    [Test]
    public async Task RunAsync_WhatTheArmCannot_FailsAndCanBeStartedAnew()
    {
        await using ArmPair pair = await StartAsync("anew.quick", "raw-ring");
        Assert.That(
            () => pair.RunAsync(Order(LoadShape.Echo, CallerKind.Async, 100)),
            Throws.TypeOf<PeerException>().With.Message.Contains(nameof(NotSupportedException)));
        Assert.That(pair.IsRunning, Is.False);
        Assert.That(
            () => pair.RunAsync(Order(LoadShape.Echo, CallerKind.Blocking, 100)),
            Throws.TypeOf<PeerException>().With.Message.Contains("are gone"));
        await pair.StartAsync();
        await RunAsync(pair, Order(LoadShape.Echo, CallerKind.Blocking, 100));
    }

    [Test]
    public async Task AskAsync_UnknownArm_SaysSo()
    {
        await using PeerProcess peer = await PeerProcess.StartAsync("peer");
        Assert.That(
            () => peer.AskAsync(new LineWriter(PeerVerbs.Serve).Add("carrier-pigeon").Add("here"), s_deadline),
            Throws.TypeOf<PeerException>().With.Message.Contains("carrier-pigeon"));
    }

    [Test]
    public async Task AskAsync_NoAnswerInTime_Fails()
    {
        await using PeerProcess peer = await PeerProcess.StartAsync("peer");
        Assert.That(
            () => peer.AskAsync(new LineWriter(PeerVerbs.Facts), TimeSpan.Zero),
            Throws.TypeOf<PeerException>().With.Message.Contains("did not answer"));
    }

    private static async Task<ArmPair> StartAsync(string label, string arm)
    {
        ArmPair pair = PerfRun.Current.Fleet.MakePair(label, arm);
        await pair.StartAsync();
        return pair;
    }

    private static async Task<SliceResult> RunAsync(ArmPair pair, LoadOrder order, int clients = 1)
    {
        SliceResult slice = await pair.RunAsync(order, clients);
        Assert.That(slice.Problem(), Is.Null, $"{order.Shape} {order.Caller} {order.SizeBytes}");
        return slice;
    }

    private static bool IsOfRecords(string name) => name.EndsWith("-record", StringComparison.Ordinal);

    private static LoadOrder Order(LoadShape shape, CallerKind caller, int sizeBytes) =>
        new(shape, caller, sizeBytes)
        {
            Calls = shape is LoadShape.Batch or LoadShape.Backlog ? 20 : 0,
            LeadIn = TimeSpan.FromMilliseconds(10),
            Duration = TimeSpan.FromMilliseconds(50),
            LeadInMessages = 3,
            Messages = 2 * PumpSink.GroupOf(sizeBytes),
            Group = PumpSink.GroupOf(sizeBytes),
        };
}
