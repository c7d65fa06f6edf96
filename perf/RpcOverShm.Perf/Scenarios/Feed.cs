namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// One publisher and 1, 10 and 100 readers in up to ten processes, which all get every message: the topic of the
/// product, a stream for each reader, grpc-dotnet's streams, and ZeroMQ. All arms take turns; beside them always a
/// topic with one reader.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(13)]
[Category(nameof(Broadcast))]
[Category(nameof(Feed))]
public sealed class Feed
{
    private const string Topic = "shm-topic";
    private const string Streams = "shm-streams";
    private const string Rival = "grpc-dotnet-streams";
    private const string Alone = "shm-topic, one reader";
    private const int Most = 100;
    private const int SizeBytes = 1 << 10;
    private const int Messages = 3000; // less than the topic's ring holds
    private const int Paced = 150;
    private const int PacedMilliseconds = 2;
    private const int Rounds = 7;
    private const int WarmUps = 5;
    private const int WarmMessages = Messages / 5;

    private static readonly string[] s_arms = [Topic, Streams, Rival, "zeromq-pub"];
    private static readonly int[] s_subscribers = [1, 10, Most];

    private static readonly string[] s_columns =
    [
        "", "readers", "publish µs, at rest", "publish µs, burst", "publisher's CPU µs", "k delivered/s",
        "to the last reader µs, p50", "p99", "CPU µs per delivery, all",
    ];

    private readonly Dictionary<ArmPair, long> _published = [];

    [Test]
    public async Task OnePublication_OfManyReaders_CostsOnce()
    {
        PerfRun run = PerfRun.Current;
        await using var fleet = new Fleet([], PerfRun.CrowdClients);
        await using var single = new Fleet([]);
        ArmPair[] pairs = [.. s_arms.Select(arm => fleet.MakePair(arm, arm)), single.MakePair(Alone, Topic)];
        try
        {
            PerfRun.Say($"{nameof(Feed)}: starting {s_arms.Length * (1 + PerfRun.CrowdClients) + 2} processes.");
            foreach (ArmPair pair in pairs)
            {
                await pair.StartAsync();
            }

            await run.LearnFactsAsync(pairs[0]);
            List<string[]> rows = [];
            foreach (int subscribers in s_subscribers)
            {
                Dictionary<string, List<Slices>> found = await MeasureAsync(pairs, subscribers, run.Settings);
                rows.AddRange(pairs.Select(pair => Row(pair.Label, CountOf(pair, subscribers), found[pair.Label])));
                if (subscribers == Most)
                {
                    run.Report(Bars(found));
                }
            }

            run.Add(new ReportTable(nameof(Feed), Explain(), s_columns, [.. rows]));
        }
        finally
        {
            foreach (ArmPair pair in pairs)
            {
                await pair.DisposeAsync();
            }
        }
    }

    private static int CountOf(ArmPair pair, int subscribers) => pair.Label == Alone ? 1 : subscribers;

    private async Task<Dictionary<string, List<Slices>>> MeasureAsync(
        ArmPair[] pairs, int subscribers, PerfSettings settings)
    {
        PerfRun.Say($"{nameof(Feed)}: {subscribers} readers.");
        ArmPair[] shuffled = [.. pairs];
        var order = new Random(settings.Seed ^ subscribers);
        var found = pairs.ToDictionary(pair => pair.Label, _ => new List<Slices>());
        foreach (ArmPair pair in pairs)
        {
            await pair.SubscribeAsync(CountOf(pair, subscribers));
        }

        for (int round = -WarmUps; round < Rounds; round++)
        {
            order.Shuffle(shuffled);
            foreach (ArmPair pair in shuffled)
            {
                int count = CountOf(pair, subscribers);
                FeedResult burst = await RunAsync(pair, round < 0 ? WarmMessages : Messages, 0, count);
                FeedResult paced = await RunAsync(pair, round < 0 ? WarmUps : Paced, PacedMilliseconds, count);
                if (round >= 0)
                {
                    found[pair.Label].Add(new Slices(burst, paced));
                }
            }
        }

        return found;
    }

    private async Task<FeedResult> RunAsync(ArmPair pair, int messages, int gapMilliseconds, int subscribers)
    {
        long first = _published.GetValueOrDefault(pair);
        _published[pair] = first + messages;
        return await pair.FeedAsync(new FeedOrder(first, messages, SizeBytes, gapMilliseconds, subscribers));
    }

    private static string[] Row(string arm, int subscribers, List<Slices> found)
    {
        var latencies = new LatencyHistogram();
        foreach (double time in found.SelectMany(slices => slices.Paced.LatenciesUs))
        {
            latencies.Record((long)(time * 1000));
        }

        double[] figures =
        [
            subscribers,
            MedianOf(slices => slices.Paced.MedianPublishUs),
            MedianOf(slices => slices.Burst.MeanPublishUs),
            MedianOf(slices => slices.Burst.PublisherCpuUs),
            1000 / MedianOf(slices => slices.Burst.UsPerDelivery),
            latencies.ValueAt(0.5) / 1000,
            latencies.ValueAt(0.99) / 1000,
            MedianOf(slices => slices.Burst.CpuUsPerDelivery),
        ];
        string[] row = [arm, .. figures.Select(Format.Number)];
        PerfRun.Say(string.Join("  ", row));
        return row;

        double MedianOf(Func<Slices, double> figure) => Ratio.MedianOf(found.Select(figure));
    }

    private static ReportBar[] Bars(Dictionary<string, List<Slices>> found)
    {
        return
        [
            Cost("publisher's CPU a message in a burst", slices => slices.Burst.PublisherCpuUs),
            Cost("time in a publication of a burst", slices => slices.Burst.MeanPublishUs),
            Cost("time in a publication at rest", slices => slices.Paced.MedianPublishUs),
            Delivered(Streams, 2.5),
            Delivered(Rival, 20),
        ];

        ReportBar Cost(string figure, Func<Slices, double> cost) => ReportBar.Of(
            $"topic, {figure}, {Most} readers to one", nameof(Feed), Compare(Topic, Alone, cost), 2, 2, isUpper: true);

        ReportBar Delivered(string rival, double limit) => ReportBar.Of(
            $"topic, messages delivered a second to {Most} readers, times {rival}",
            nameof(Feed),
            Compare(rival, Topic, slices => slices.Burst.UsPerDelivery),
            limit,
            limit);

        Ratio Compare(string one, string other, Func<Slices, double> figure) =>
            Ratio.Of([.. found[one].Select(figure)], [.. found[other].Select(figure)]);
    }

    private static string Explain() =>
        $"One publisher, messages of {SizeBytes} B, and readers in up to {PerfRun.CrowdClients} processes, which check "
        + $"that none is missing and every byte. In {Rounds} rounds each arm sends a burst of {Messages} messages as "
        + $"fast as it takes them, and {Paced} messages one by one after {PacedMilliseconds} ms each. At rest: the "
        + "median call that publishes of those, and the time from it until the last reader has the message. Of the "
        + "burst: the mean call, the processor time of the publisher's process for each message and of all processes "
        + "for each message and reader, and the messages that reached readers by the time of the last one.";

    private sealed record Slices(FeedResult Burst, FeedResult Paced);
}
