using System.Net.Sockets;
using RpcOverShm.Protocol;

namespace RpcOverShm.FunctionalTests.Connectivity;

/// <summary>The listeners of a process share one thread: what one of them meets is not to be felt at another.</summary>
[NonParallelizable]
[OneMode]
internal sealed class SharedDoorTests
{
    private const string Door = "RpcOverShm door";

    // As Linux shortens them.
    private static readonly string[] s_threads =
        [Door, "RpcOverShm loop", "RpcOverShm watc", "RpcOverShm clos", "RpcOverShm spar"];

    private readonly TestDirectory _directory = new();
    private readonly List<IAsyncDisposable> _ends = [];

    [TearDown]
    public async Task EndAsync()
    {
        await EndAllAsync();
        _directory.Dispose();
    }

    [Test]
    [LinuxOnly("Its peer is played by hand over a Unix socket.")]
    public async Task NeighbourWithHostileClients_DelaysNobody()
    {
        const int Silent = 200;
        const int Newcomers = 20;
        await ServeAsync("besieged");
        await ServeAsync("calm");
        List<Socket> silent = [];
        using var isOver = new CancellationTokenSource();
        try
        {
            // More than there are places: a third say nothing, a third begin a hello, a third send what is none.
            for (int i = 0; i < Silent; i++)
            {
                silent.Add(await ConnectAsync("besieged"));
                byte[] words = i % 3 == 0 ? [] : i % 3 == 1 ? [(byte)'R'] : new byte[Hello.MaxSizeBytes];
                await silent[i].SendAsync(words);
            }

            Task coming = Task.Run(() => ComeAndGoAsync(isOver.Token));
            for (int i = 0; i < Newcomers; i++)
            {
                await CallAsync("calm");
            }

            await CallAsync("besieged");
            await isOver.CancelAsync();
            await coming.Bounded();
        }
        finally
        {
            silent.ForEach(socket => socket.Dispose());
        }
    }

    [Test]
    public async Task ManyServersAndChannels_ShareOneThreadForTheirDoors()
    {
        const int Servers = 6;
        for (int i = 0; i < Servers; i++)
        {
            await ServeAsync($"server{i}");
            await CallAsync($"server{i}");
        }

        string[] threads = [.. ProcessResources.ThreadNames().Where(name => name.StartsWith("RpcOverShm"))];

        Assert.That(threads.Count(name => name == Door), Is.EqualTo(1));
        Assert.That(threads.Where(name => !s_threads.Any(name.StartsWith)), Is.Empty);
        int loops = 2 * Math.Max(1, Environment.ProcessorCount / 2);
        Assert.That(threads.Count(name => name == "RpcOverShm loop"), Is.LessThanOrEqualTo(loops));
    }

    [Test]
    public async Task LastListener_ThatEnds_EndsTheThread_AndTheNextStartsAnother()
    {
        for (int i = 0; i < 2; i++)
        {
            await ServeAsync("server");
            await CallAsync("server");
            Assert.That(Doors(), Is.EqualTo(1));

            await EndAllAsync();

            await Timeouts.Eventually(() => Doors() == 0, "the thread of the doors ends");
        }
    }

    private static int Doors() => ProcessResources.ThreadNames().Count(name => name == Door);

    private async Task EndAllAsync()
    {
        foreach (IAsyncDisposable end in Enumerable.Reverse(_ends))
        {
            await end.DisposeAsync().AsTask().Bounded();
        }

        _ends.Clear();
    }

    private async Task ServeAsync(string name)
    {
        var server = new ShmServer(_directory.AddressOf(name), new ShmServerOptions
        {
            Listen = { RuntimeDirectory = _directory.Option, HandshakeTimeout = TimeSpan.FromHours(1) },
        });
        server.Services.Add(new Script().Build());
        _ends.Add(server);
        await server.StartAsync();
    }

    private async Task CallAsync(string name)
    {
        var channel = ShmChannel.ForAddress(_directory.AddressOf(name), new ShmChannelOptions
        {
            Connect = { RuntimeDirectory = _directory.Option, Timeout = Timeouts.Wait },
        });
        _ends.Add(channel);
        var client = new ScriptClient(channel.CreateCallInvoker());
        Payload answer = await client.UnaryAsync(Payloads.Of("x")).ResponseAsync.Bounded();
        Assert.That(answer.Text(), Is.EqualTo("x"));
    }

    private async Task<Socket> ConnectAsync(string name)
    {
        Socket socket = UnixSockets.New();
        var endPoint = new UnixDomainSocketEndPoint(_directory.Combine($"{name}.sock"));
        await Timeouts.Eventually(() => TryConnect(socket, endPoint), "the queue of the system has room");
        return socket;
    }

    private static bool TryConnect(Socket socket, UnixDomainSocketEndPoint endPoint)
    {
        try
        {
            socket.Connect(endPoint);
            return true;
        }
        catch (SocketException exception) when (exception.SocketErrorCode is SocketError.WouldBlock)
        {
            return false;
        }
    }

    private async Task ComeAndGoAsync(CancellationToken isOver)
    {
        while (!isOver.IsCancellationRequested)
        {
            using Socket socket = await ConnectAsync("besieged");
        }
    }
}
