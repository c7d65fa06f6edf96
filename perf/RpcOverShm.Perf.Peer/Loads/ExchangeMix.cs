namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>
/// Calls of all asymmetric sizes with their counts, half of them with request and answer swapped, in one shuffled order
/// that is the same in every process and slice.
/// </summary>
internal static class ExchangeMix
{
    private const int Seed = 271_828;
    private static readonly ExchangeSize[] s_calls = Shuffle();

    /// <summary>Calls in a whole mix; then it begins anew.</summary>
    public static int Length => s_calls.Length;

    /// <summary>Returns the sizes of the caller's <paramref name="index"/>-th call in a slice.</summary>
    public static ExchangeSize At(long index) => s_calls[index % s_calls.Length];

    /// <summary>The largest message, either way.</summary>
    public static int LargestBytes => s_calls.Max(call => Math.Max(call.RequestBytes, call.ReplyBytes));

    /// <summary>The mean request of the whole mix.</summary>
    public static double MeanRequestBytes => s_calls.Average(call => (double)call.RequestBytes);

    /// <summary>The mean answer of the whole mix.</summary>
    public static double MeanReplyBytes => s_calls.Average(call => (double)call.ReplyBytes);

    private static ExchangeSize[] Shuffle()
    {
        (int RequestBytes, int Count)[] counts =
            [(100, 2000), (1_000, 1000), (10_000, 100), (50_000, 20), (100_000, 10)];
        var calls = new List<ExchangeSize>();
        foreach ((int request, int count) in counts)
        {
            int reply = request * 10;
            calls.AddRange(Enumerable.Repeat(new ExchangeSize(request, reply), count / 2));
            calls.AddRange(Enumerable.Repeat(new ExchangeSize(reply, request), count - (count / 2)));
        }

        ExchangeSize[] shuffled = [.. calls];
        new Random(Seed).Shuffle(shuffled);
        return shuffled;
    }
}

/// <summary>The sizes of one call, each way.</summary>
/// <param name="RequestBytes">The request's payload.</param>
/// <param name="ReplyBytes">The answer's, or <see cref="LoadOrder.SameAsRequest"/>.</param>
internal readonly record struct ExchangeSize(int RequestBytes, int ReplyBytes)
{
    /// <summary>The size of the answer in bytes.</summary>
    public int ReplyExpected => ReplyBytes == LoadOrder.SameAsRequest ? RequestBytes : ReplyBytes;
}
