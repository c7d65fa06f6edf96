namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>
/// The readers of a feed in this process. They read until it ends, and check what they get by the slice of the moment.
/// </summary>
internal sealed class FeedReaders
{
    private static readonly TimeSpan s_deadline = TimeSpan.FromSeconds(25);

    private readonly List<FeedReader> _readers = [];
    private volatile FeedSlice? _slice;

    /// <summary>The slice that is published now; null before the first slice.</summary>
    public FeedSlice? Slice => _slice;

    /// <summary>Opens further subscriptions on the channel of a client, up to a number.</summary>
    public void Widen(IArmClient client, long count)
    {
        while (_readers.Count < count)
        {
            var reader = new FeedReader(this);
            client.SubscribeAsync(reader).GetAwaiter().GetResult();
            _readers.Add(reader);
        }
    }

    /// <summary>Says what will be published, before it is.</summary>
    public void Expect(FeedOrder order) => _slice = new FeedSlice(order, _readers.Count);

    /// <summary>Waits until all readers have all of it.</summary>
    /// <exception cref="TimeoutException">One has not, after a long time.</exception>
    public FeedTaken Take() => Slice is { } slice && slice.Done.Wait(s_deadline)
        ? slice.Taken
        : throw new TimeoutException($"Not all of {_readers.Count} readers got the last message: {_slice?.Taken}");
}
