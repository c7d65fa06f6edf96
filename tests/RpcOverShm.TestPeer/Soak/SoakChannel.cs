using Grpc.Core;

namespace RpcOverShm.TestPeer.Soak;

/// <summary>One channel of a client, with random options. Its calls may end as cancelled once it closes.</summary>
internal sealed class SoakChannel : IAsyncDisposable
{
    private const int SmallestRing = 64 << 10;
    private const int RingDoublings = 5;

    private readonly ShmChannel _channel;
    private volatile bool _isClosing;

    /// <summary>Opens a channel.</summary>
    /// <param name="address">The address of the server.</param>
    /// <param name="directory">The directory of sockets.</param>
    /// <param name="journal">Gets the library's log.</param>
    /// <param name="random">Picks the options.</param>
    /// <param name="patience">The factor of time limits.</param>
    /// <param name="callbacks">The methods that the server calls back.</param>
    /// <param name="scheduling">The scheduling mode; null for a random one.</param>
    public SoakChannel(
        string address,
        string directory,
        SoakJournal journal,
        Random random,
        int patience,
        ServerServiceDefinition callbacks,
        ShmSchedulingMode? scheduling)
    {
        Address = address;
        TimeSpan connectTimeout = new ShmStreamOptions().Connect.Timeout * patience;
        var options = new ShmChannelOptions
        {
            Connect = { RuntimeDirectory = directory, Timeout = connectTimeout },
            LoggerFactory = journal,
            Scheduling = scheduling ?? PickScheduling(random),
            Ring = { Capacity = PickRing(random) },
            Codec = random.Next(2) == 0 ? ShmRawCodec.Instance : null,
        };
        options.Callbacks.Services.Add(callbacks);
        options.Callbacks.EnableDetailedErrors = true;
        _channel = ShmChannel.ForAddress(address, options);
        Invoker = _channel.CreateCallInvoker();
        OneWay = _channel.CreateOneWayInvoker();
        Streams = new ShmStreamOptions
        {
            Connect = { RuntimeDirectory = directory, Timeout = connectTimeout },
            LoggerFactory = journal,
            Ring = { Capacity = PickRing(random) },
        };
    }

    public string Address { get; }

    public CallInvoker Invoker { get; }

    /// <summary>The invoker of calls that are over when they were sent.</summary>
    public CallInvoker OneWay { get; }

    public ShmStreamOptions Streams { get; }

    public bool IsClosing => _isClosing;

    public static ShmSchedulingMode PickScheduling(Random random) => random.Next(4) switch
    {
        0 => ShmSchedulingMode.ThreadPool,
        1 => ShmSchedulingMode.Inline,
        _ => ShmSchedulingMode.Adaptive,
    };

    public static int PickRing(Random random) => SmallestRing << random.Next(RingDoublings);

    public Task ConnectAsync() => _channel.ConnectAsync();

    public ShmCallBatch CreateBatch() => _channel.CreateBatch();

    public async ValueTask DisposeAsync()
    {
        _isClosing = true;
        await _channel.DisposeAsync();
    }
}
