namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Answers ten times as large as their requests, as in real services; the same sizes in a shuffled order, with request
/// and answer swapped in half of the calls; many small calls one by one, and in batches.
/// </summary>
[Order(4)]
[Category(nameof(RequestResponse))]
public sealed class RequestResponse() : Scenario(s_plan)
{
    private const int AnswerTimes = 10;
    private const int BatchCalls = 2000;
    private const int ManyCalls = 10_000;
    private const int MixedCalls = 300;
    private const int SmallestBytes = 8; // the number of a message: a request for bytes, a yes or no
    private const int OneWayCalls = 1000;
    private const string Many = "one by one and in batches";

    private static readonly TimeSpan s_fullSlice = TimeSpan.FromSeconds(2);
    private static readonly CellPlan s_many = MakeCell(100, ManyCalls) with
    {
        Variant = Many,
        BatchCalls = BatchCalls,
    };

    private static readonly ScenarioPlan s_plan = new(nameof(RequestResponse), [.. MakeCells()])
    {
        Bars =
        [
            Bar.NeverSlowerThanThePipe(nameof(RequestResponse)),
            .. Bar.In(s_many.Name, Bar.TimesBetter(
                1.5,
                3,
                "Batch of 2000 (100 B to 1 KB), faster than one by one",
                BarArm.Async("shm-protobuf-batch"),
                BarArm.Blocking("shm-protobuf"))),
        ],
    };

    private static IEnumerable<CellPlan> MakeCells()
    {
        yield return s_many;
        yield return MakeCell(100, 2000);
        yield return MakeCell(1_000, 1000);
        yield return MakeCell(10_000, 100);
        yield return MakeCell(50_000, 20);
        yield return MakeCell(100_000, 10);
        if (PerfSettings.IsFull)
        {
            yield return MakeCell(200_000, 10);
            foreach (int size in (int[])[128, 1 << 10, 4 << 10, 32 << 10, 256 << 10])
            {
                yield return MakeCell(SmallestBytes, size, OneWayCalls);
                yield return MakeCell(size, SmallestBytes, OneWayCalls);
            }
        }

        CellPlan mixed = MakeCell(LoadOrder.Mixed, PerfSettings.IsFull ? ExchangeMix.Length : MixedCalls);
        yield return mixed with
        {
            Order = mixed.Order with { ReplyBytes = LoadOrder.SameAsRequest },

            // Every arm carries the whole sequence: otherwise the arms' calls would differ.
            ShortestSlice = TimeSpan.FromSeconds(1),
        };
    }

    private static CellPlan MakeCell(int requestBytes, int calls) =>
        MakeCell(requestBytes, requestBytes * AnswerTimes, calls);

    // A slice ends after the number of calls for its size, or after its time, whichever comes first.
    private static CellPlan MakeCell(int requestBytes, int replyBytes, int calls) =>
        new(nameof(RequestResponse), new LoadOrder(LoadShape.Echo, CallerKind.Blocking, requestBytes)
        {
            ReplyBytes = replyBytes,
            Calls = calls,
        })
        {
            Arms = ArmSets.Forms,
            Callers = [CallerKind.Blocking],
            Time = CellTime.MeanCall,
            ShortestSlice = PerfSettings.IsFull ? s_fullSlice : TimeSpan.Zero,
        };
}
