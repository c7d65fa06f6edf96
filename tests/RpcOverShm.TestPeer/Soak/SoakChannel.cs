using Grpc.Core;

namespace RpcOverShm.TestPeer.Soak;

/// <summary>One channel of a client, with random options. Its calls may end as cancelled once it closes.</summary>
internal sealed class SoakChannel : IAsyncDisposable
{
    private const int SmallestRing = 64 << 10;
    private const int RingDoublings = 5;

    private readonly ShmChannel _channel;
    private volatile bool _isClosing;

    public SoakChannel(
        string address, string directory, SoakJournal journal, Random random, int patience)
    {
        TimeSpan connectTimeout = new ShmStreamOptions().ConnectTimeout * patience;
        var options = new ShmChannelOptions
        {
            RuntimeDirectory = directory,
            LoggerFactory = journal,
            ConnectTimeout = connectTimeout,
            Scheduling = PickScheduling(random),
            AllowInPlaceParsing = random.Next(2) == 0,
            RingCapacity = PickRing(random),
            Codec = random.Next(2) == 0 ? ShmRawCodec.Instance : null,
        };
        _channel = ShmChannel.ForAddress(address, options);
        Invoker = _channel.CreateCallInvoker();
        Streams = new ShmStreamOptions
        {
            RuntimeDirectory = directory,
            LoggerFactory = journal,
            ConnectTimeout = connectTimeout,
            RingCapacity = PickRing(random),
        };
    }

    public CallInvoker Invoker { get; }

    public ShmStreamOptions Streams { get; }

    public bool IsClosing => _isClosing;

    public static ShmSchedulingMode PickScheduling(Random random) => random.Next(4) switch
    {
        0 => ShmSchedulingMode.ThreadPool,
        1 => ShmSchedulingMode.Inline,
        _ => ShmSchedulingMode.Adaptive,
    };

    public static int PickRing(Random random) => SmallestRing << random.Next(RingDoublings);

    public ShmCallBatch CreateBatch() => _channel.CreateBatch();

    public async ValueTask DisposeAsync()
    {
        _isClosing = true;
        await _channel.DisposeAsync();
    }
}
