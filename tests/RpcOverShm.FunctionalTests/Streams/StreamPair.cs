namespace RpcOverShm.FunctionalTests.Streams;

/// <summary>Both ends of a stream in this process.</summary>
internal sealed class StreamPair : IAsyncDisposable
{
    private readonly TestDirectory _directory;
    private readonly ShmStreamListener _listener;

    private StreamPair(TestDirectory directory, ShmStreamListener listener, ShmStream client, ShmStream server)
    {
        _directory = directory;
        _listener = listener;
        Client = client;
        Server = server;
    }

    public ShmStream Client { get; }

    public ShmStream Server { get; }

    public static async Task<StreamPair> OpenAsync(int ringCapacity = 1 << 20)
    {
        var directory = new TestDirectory();
        string address = directory.AddressOf("pair");
        var options = new ShmStreamOptions
        {
            Connect = { RuntimeDirectory = directory.Option },
            Ring = { Capacity = ringCapacity },
        };
        var listener = new ShmStreamListener(address, new ShmStreamListenerOptions
        {
            Listen = { RuntimeDirectory = directory.Option },
            Ring = { Capacity = ringCapacity },
        });
        listener.Start();
        Task<ShmStream> connecting = ShmStream.ConnectAsync(address, options);
        ShmStream server = await listener.AcceptAsync().Bounded();
        return new StreamPair(directory, listener, await connecting.Bounded(), server);
    }

    public async ValueTask DisposeAsync()
    {
        await Client.DisposeAsync();
        await Server.DisposeAsync();
        await _listener.DisposeAsync();
        Assert.That(_directory.FileNames, Is.Empty);
        _directory.Dispose();
    }
}
