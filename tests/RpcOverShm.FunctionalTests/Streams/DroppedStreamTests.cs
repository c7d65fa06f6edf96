namespace RpcOverShm.FunctionalTests.Streams;

/// <summary>Streams that their user drops without disposing them.</summary>
[OneMode]
internal sealed class DroppedStreamTests
{
    private const int StreamDropped = 400;

    private readonly TestDirectory _directory = new();
    private readonly LogGuard _log = new();

    private string Address => _directory.AddressOf("dropped");

    private ShmStreamOptions Options => new()
    {
        Connect = { RuntimeDirectory = _directory.Option },
        LoggerFactory = _log,
    };

    [OneTimeTearDown]
    public void Dispose()
    {
        _directory.Dispose();
        _log.Dispose();
        _log.Check();
    }

    [Test]
    public async Task Stream_ThatIsDropped_EndsForItsPeer()
    {
        await using ShmStreamListener listener = Listen();
        Task<int> written = Timeouts.OnThread(() => WriteAsync().GetAwaiter().GetResult());
        await using ShmStream peer = await listener.AcceptAsync().Bounded();
        await written.Bounded();
        byte[] buffer = new byte[16];

        Assert.That(await peer.ReadAsync(buffer).Bounded(), Is.EqualTo(1));
        Task<int> end = peer.ReadAsync(buffer).AsTask();
        await Timeouts.Eventually(() =>
        {
            Unobserved.Collect();
            return end.IsCompleted;
        });

        Assert.That(await end, Is.Zero);
        Assert.That((await _log.WaitForAsync(StreamDropped)).Message, Does.Contain("without Dispose"));

        async Task<int> WriteAsync()
        {
            ShmStream stream = await ShmStream.ConnectAsync(Address, Options);
            await stream.WriteAsync(new byte[1]);
            return 1;
        }
    }

    [Test]
    public async Task Stream_WithARead_StaysUntilItsEnd([Values] bool isBlocking)
    {
        int before = _log.Of(StreamDropped).Count;
        await using ShmStreamListener listener = Listen();
        Task<int> reading = isBlocking
            ? Timeouts.OnThread(() => ConnectAsync().GetAwaiter().GetResult().Read(new byte[1], 0, 1))
            : ReadAsync();
        await using ShmStream peer = await listener.AcceptAsync().Bounded();

        for (int i = 0; i < 5; i++)
        {
            await Task.Delay(5);
            Unobserved.Collect();
        }

        bool wasReading = !reading.IsCompleted;
        await peer.WriteAsync(new byte[1]);

        Assert.That(await reading.Bounded(), Is.EqualTo(1));
        Assert.That(wasReading);
        await Timeouts.Eventually(() =>
        {
            Unobserved.Collect();
            return _log.Of(StreamDropped).Count > before;
        });

        Task<ShmStream> ConnectAsync() => ShmStream.ConnectAsync(Address, Options);

        async Task<int> ReadAsync() => await (await ConnectAsync()).ReadAsync(new byte[1]);
    }

    private ShmStreamListener Listen()
    {
        var options = new ShmStreamListenerOptions
        {
            Listen = { RuntimeDirectory = _directory.Option },
            LoggerFactory = _log,
        };
        var listener = new ShmStreamListener(Address, options);
        listener.Start();
        return listener;
    }
}
