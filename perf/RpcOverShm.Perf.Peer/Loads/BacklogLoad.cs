namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>
/// Starts many awaited calls at once, without waiting for any, and takes the time of each answer since the first start.
/// Requests are filled before, and answers are checked afterwards.
/// </summary>
internal static class BacklogLoad
{
    public static LoadResult Run(LoadOrder order, IReadOnlyList<IEcho> calls, ref long sequence)
    {
        var size = new ExchangeSize(order.SizeBytes, order.ReplyBytes);
        long[] numbers = new long[calls.Count];
        for (int i = 0; i < numbers.Length; i++)
        {
            numbers[i] = EchoNumber.Make(caller: 0, size.ReplyBytes, sequence++, order.WorkMicroseconds);
            PayloadPattern.Fill(calls[i].Prepare(size).Span, numbers[i]);
            calls[i].Seal();
        }

        long[] answered = new long[calls.Count];
        ResourceSample before = ResourceSample.Take();
        long start = Stopwatch.GetTimestamp();
        Task.Run(() => CallAllAsync(calls, answered)).GetAwaiter().GetResult();
        ResourceSample used = ResourceSample.Take() - before;

        var times = new LatencyHistogram();
        long wrong = 0;
        for (int i = 0; i < numbers.Length; i++)
        {
            times.Record(answered[i] - start);
            wrong += PayloadPattern.CountWrong(calls[i].Reply, numbers[i], size.ReplyExpected);
        }

        return new LoadResult
        {
            All = calls.Count,
            FirstTick = start,
            FirstAnswerTicks = answered.Min() - start,
            ElapsedTicks = answered.Max() - start,
            WrongBytes = wrong,
            Used = used,
            Times = times,
        };
    }

    private static Task CallAllAsync(IReadOnlyList<IEcho> calls, long[] answered)
    {
        var running = new Task[calls.Count];
        for (int i = 0; i < running.Length; i++)
        {
            running[i] = CallAsync(calls[i], i, answered);
        }

        return Task.WhenAll(running);
    }

    private static async Task CallAsync(IEcho call, int index, long[] answered)
    {
        await call.CallAsync();
        answered[index] = Stopwatch.GetTimestamp();
    }
}
