using RpcOverShm.MessagePack;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>The base of fixtures with a second process: owns the peers and their common directory.</summary>
[NonParallelizable]
[Category("TwoProcess")]
internal abstract class PeerFixture
{
    protected const string SocketName = "two.sock";
    protected const string LockName = "two.lock";

    private readonly List<PeerProcess> _peers = [];
    private readonly List<IAsyncDisposable> _owned = [];

    protected TestDirectory Directory { get; private set; } = null!;

    protected string Address => Directory.AddressOf("two");

    /// <summary>The pipe, or the path of the socket, that the address stands for.</summary>
    protected string Place => Directory.PlaceOf("two");

    /// <summary>The names in the directory; on Windows that of the pipe at which a server listens.</summary>
    protected string[] FileNames => Directory.FileNamesAt(Place);

    protected LogGuard Log { get; private set; } = null!;

    [SetUp]
    public void MakeDirectory()
    {
        Directory = new TestDirectory();
        Log = new LogGuard();
    }

    [TearDown]
    public async Task EndPeersAsync()
    {
        _owned.Reverse();
        foreach (IAsyncDisposable owned in _owned)
        {
            await owned.DisposeAsync();
        }

        _owned.Clear();
        foreach (PeerProcess peer in _peers)
        {
            if (peer.Errors.Length > 0)
            {
                TestContext.Out.WriteLine($"Peer {peer.Id}: {peer.Errors}");
            }

            await peer.DisposeAsync();
        }

        _peers.Clear();
        Directory.Dispose();
        Log.Dispose();
        await CallRig.WhenLoggedAsync();
        Log.Check();
    }

    protected async Task<PeerProcess> StartPeerAsync(params string[] arguments)
    {
        PeerProcess peer = await PeerProcess.StartAsync("RpcOverShm.TestPeer", arguments);
        Adopt(peer);
        return peer;
    }

    /// <summary>Ends the peer at the end of the test.</summary>
    protected void Adopt(PeerProcess peer) => _peers.Add(peer);

    /// <summary>Takes an <see cref="Adopt"/> back.</summary>
    protected void Release(PeerProcess peer) => _peers.Remove(peer);

    /// <summary>Ends a peer before the end of the test, with all that this process has for it.</summary>
    protected async Task EndAsync(PeerProcess peer)
    {
        Release(peer);
        await peer.DisposeAsync();
    }

    /// <summary>Starts a peer that serves the script at the address.</summary>
    protected async Task<PeerProcess> StartServingPeerAsync(params string[] arguments)
    {
        PeerProcess peer = await StartPeerAsync(arguments);
        await peer.DoAsync($"serve {Address} {Directory.Word}");
        return peer;
    }

    /// <summary>Starts a peer with a channel to the address.</summary>
    protected async Task<PeerProcess> StartCallingPeerAsync(params string[] arguments)
    {
        PeerProcess peer = await StartPeerAsync(arguments);
        await peer.DoAsync($"channel {Address} {Directory.Word}");
        return peer;
    }

    /// <summary>Starts a peer with one end of a byte stream; returns the other end, which the test disposes.</summary>
    protected async Task<(PeerProcess Peer, ShmStream Stream)> OpenStreamAsync()
    {
        PeerProcess peer = await StartPeerAsync();
        return (peer, await OpenStreamAsync(peer));
    }

    /// <summary>Gives the peer one end of a byte stream; returns the other end, which the test disposes.</summary>
    protected async Task<ShmStream> OpenStreamAsync(PeerProcess peer)
    {
        await peer.DoAsync($"stream-listen {Address} {Directory.Word}");
        Task<string> accepting = peer.DoAsync("stream-accept");
        ShmStream stream = await ShmStream.ConnectAsync(
            Address, new ShmStreamOptions { Connect = { RuntimeDirectory = Directory.Option } });
        await accepting.Bounded();
        return stream;
    }

    protected async Task<ShmServer> ServeAsync(Script script, Action<ShmServerOptions>? change = null)
    {
        var options = new ShmServerOptions
        {
            Listen = { RuntimeDirectory = Directory.Option },
            LoggerFactory = Log,
            MaxReceiveMessageSize = null,
        };
        change?.Invoke(options);
        var server = new ShmServer(Address, options);
        _owned.Add(server);
        server.Services.Add(script.Build());
        await server.StartAsync();
        return server;
    }

    protected ShmChannel OpenChannel(Action<ShmChannelOptions>? change = null)
    {
        var options = new ShmChannelOptions
        {
            Connect = { RuntimeDirectory = Directory.Option },
            LoggerFactory = Log,
            MaxReceiveMessageSize = null,
        };
        change?.Invoke(options);
        var channel = ShmChannel.ForAddress(Address, options);
        _owned.Add(channel);
        return channel;
    }

    /// <summary>Opens a channel whose messages are in Protobuf or, packed, in MessagePack.</summary>
    protected ShmChannel OpenChannel(bool isPacked) =>
        OpenChannel(options => options.Codec = isPacked ? ShmMessagePackCodec.Instance : null);

    protected ScriptClient OpenClient(bool isPacked = false) => new(OpenChannel(isPacked).CreateCallInvoker());

    /// <summary>Returns the command with which a peer opens such a channel.</summary>
    protected string ChannelCommand(bool isPacked) =>
        $"channel {Address} {Directory.Word} - {(isPacked ? "packed" : "")}".TrimEnd();

    /// <summary>Returns the names that files of the directory have on Linux; on Windows there are none.</summary>
    protected static string[] Files(params string[] names) => OperatingSystem.IsWindows() ? [] : names;

    protected void Own(IAsyncDisposable owned) => _owned.Add(owned);

    /// <summary>Waits until this process holds no more resources than before.</summary>
    protected static async Task ReturnsToAsync(ProcessFacts before)
    {
        try
        {
            await Timeouts.Eventually(() => ProcessFacts.OfSelf().IsNoMoreThan(before), TimeSpan.FromSeconds(20));
        }
        catch (TimeoutException)
        {
            Assert.That(ProcessFacts.OfSelf(), Is.EqualTo(before));
        }
    }
}
