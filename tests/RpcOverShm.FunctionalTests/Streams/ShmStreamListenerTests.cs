using RpcOverShm.FunctionalTests.Connectivity;

namespace RpcOverShm.FunctionalTests.Streams;

[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
[OneMode]
internal sealed class ShmStreamListenerTests
{
    private const int LimitReached = 109;

    private readonly TestDirectory _directory = new();

    private string Address => _directory.AddressOf("listener");

    private ShmStreamOptions Options => new() { Connect = { RuntimeDirectory = _directory.Option } };

    private ShmStreamListenerOptions ListenerOptions => new() { Listen = { RuntimeDirectory = _directory.Option } };

    [TearDown]
    public void DeleteDirectory()
    {
        string[] left = _directory.FileNames;
        _directory.Dispose();
        Assert.That(left, Is.Empty);
    }

    [Test]
    public async Task Accept_BeforeTheStart_Throws()
    {
        await using var listener = new ShmStreamListener(Address, ListenerOptions);

        Assert.That(
            async () => await listener.AcceptAsync(),
            Throws.InvalidOperationException.With.Message.Contains("not started"));
    }

    [Test]
    public async Task Start_Twice_OrAfterDispose_Throws()
    {
        ShmStreamListener listener = Start();
        Assert.That(listener.Start, Throws.InvalidOperationException.With.Message.Contains("started already"));
        await listener.DisposeAsync();
        await listener.DisposeAsync();

        Assert.That(
            listener.Start,
            Throws.TypeOf<ObjectDisposedException>().With.Message.Contains($"The listener at {Address} was "));
        Assert.That(
            async () => await listener.AcceptAsync(),
            Throws.TypeOf<ObjectDisposedException>().With.Message.Contains("Create another ShmStreamListener."));
    }

    [Test]
    public async Task Start_WhereAnotherListens_ThrowsAddressInUse()
    {
        await using ShmStreamListener first = Start();
        await using var second = new ShmStreamListener(Address, ListenerOptions);

        ShmTransportException exception = Assert.Throws<ShmTransportException>(second.Start)!;

        Assert.That(exception.Error, Is.EqualTo(ShmTransportError.AddressInUse));
    }

    [Test]
    public async Task Accept_ByItsToken_IsGivenUp_AndTheListenerLives()
    {
        await using ShmStreamListener listener = Start();
        using var cancellation = new CancellationTokenSource();

        Task<ShmStream> accept = listener.AcceptAsync(cancellation.Token).AsTask();
        await cancellation.CancelAsync();
        Assert.That(async () => await accept.Bounded(), Throws.InstanceOf<OperationCanceledException>());

        await using ShmStream client = await ShmStream.ConnectAsync(Address, Options);
        await using ShmStream server = await listener.AcceptAsync().Bounded();
        client.WriteByte(5);
        Assert.That(server.ReadByte(), Is.EqualTo(5));
    }

    [Test]
    public async Task Accept_WhileTheListenerIsDisposed_Throws()
    {
        ShmStreamListener listener = Start();

        Task<ShmStream> accept = listener.AcceptAsync().AsTask();
        await listener.DisposeAsync();

        Assert.That(async () => await accept.Bounded(), Throws.TypeOf<ObjectDisposedException>());
    }

    [Test]
    public async Task Dispose_RefusesWhoWasNotAccepted_AndLeavesTheAcceptedAlone()
    {
        ShmStreamListener listener = Start();
        await using ShmStream accepted = await ShmStream.ConnectAsync(Address, Options);
        await using ShmStream server = await listener.AcceptAsync().Bounded();
        await using ShmStream waiting = await ShmStream.ConnectAsync(Address, Options);

        await listener.DisposeAsync();

        IOException failure =
            Assert.ThrowsAsync<IOException>(() => waiting.ReadAsync(new byte[1]).AsTask().Bounded())!;
        Assert.That(failure.Message, Does.Contain("refused").And.Contain("before it accepted this stream"));
        Assert.That(() => waiting.WriteByte(1), Throws.InstanceOf<IOException>());
        server.WriteByte(1);
        Assert.That(accepted.ReadByte(), Is.EqualTo(1));
    }

    [Test]
    public void Connect_ToNobody_ThrowsAtOnce()
    {
        ShmTransportException exception =
            Assert.ThrowsAsync<ShmTransportException>(() => ShmStream.ConnectAsync(Address, Options))!;

        Assert.That(exception.Error, Is.EqualTo(ShmTransportError.NotListening));
        Assert.That(exception.Message, Does.Contain(_directory.PlaceOf("listener")));
    }

    [Test]
    public async Task Connect_ByItsToken_IsGivenUp()
    {
        using var silent = new SilentListener(_directory.PlaceOf("listener"));
        using var cancellation = new CancellationTokenSource();

        Task<ShmStream> connect = ShmStream.ConnectAsync(Address, Options, cancellation.Token);
        await silent.Accepted.Bounded();
        await cancellation.CancelAsync();

        Assert.That(async () => await connect.Bounded(), Throws.InstanceOf<OperationCanceledException>());
    }

    [Test]
    public void Connect_ToASilentListener_TimesOut()
    {
        using var silent = new SilentListener(_directory.PlaceOf("listener"));
        ShmStreamOptions options = Options;
        options.Connect.Timeout = TimeSpan.FromMilliseconds(100);

        ShmTransportException exception =
            Assert.ThrowsAsync<ShmTransportException>(() => ShmStream.ConnectAsync(Address, options))!;

        Assert.That(exception.Error, Is.EqualTo(ShmTransportError.TimedOut));
    }

    [Test]
    public async Task ManyClients_EachGetTheirOwnStream()
    {
        const int Clients = 30;
        await using ShmStreamListener listener = Start();

        Task serving = Task.Run(async () =>
        {
            for (int i = 0; i < Clients; i++)
            {
                _ = EchoAsync(await listener.AcceptAsync());
            }
        });
        await Task.WhenAll(Enumerable.Range(0, Clients).Select(async i =>
        {
            await using ShmStream client = await ShmStream.ConnectAsync(Address, Options);
            byte[] sent = [(byte)i, (byte)(i + 1)];
            byte[] received = new byte[2];
            await client.WriteAsync(sent);
            await client.ReadExactlyAsync(received);
            Assert.That(received, Is.EqualTo(sent));
        })).Bounded();
        await serving.Bounded();
    }

    [Test]
    public async Task DeadClients_ThatWait_MakeRoomForALivingOne()
    {
        const int MaxWaiting = 4;
        using var log = new LogGuard();
        await using ShmStreamListener listener = Start(options =>
        {
            options.LoggerFactory = log;
            options.MaxWaitingStreams = MaxWaiting;
        });
        await using ShmStream first = await ShmStream.ConnectAsync(Address, Options);
        for (int i = 0; i < MaxWaiting - 2; i++)
        {
            await (await ShmStream.ConnectAsync(Address, Options)).DisposeAsync();
        }

        await using ShmStream last = await ShmStream.ConnectAsync(Address, Options);
        await Timeouts.Eventually(() => listener.WaitingOver == MaxWaiting - 2);

        await using ShmStream newcomer = await ShmStream.ConnectAsync(Address, Options);
        await Timeouts.Eventually(() => listener.WaitingOver == 0);
        first.WriteByte(1);
        last.WriteByte(2);
        newcomer.WriteByte(3);
        for (int i = 1; i <= 3; i++)
        {
            await using ShmStream accepted = await listener.AcceptAsync().Bounded();
            Assert.That(accepted.ReadByte(), Is.EqualTo(i));
        }

        await CallRig.WhenLoggedAsync();
        Assert.That(log.Of(LimitReached), Is.Empty);
    }

    [Test]
    public async Task Clients_BeyondThoseThatMayWait_AreRefused()
    {
        const int MaxWaiting = 4;
        using var log = new LogGuard();
        await using ShmStreamListener listener = Start(options =>
        {
            options.LoggerFactory = log;
            options.MaxWaitingStreams = MaxWaiting;
        });
        var clients = new List<ShmStream>();
        for (int i = 0; i < MaxWaiting; i++)
        {
            clients.Add(await ShmStream.ConnectAsync(Address, Options));
        }

        await CallRig.WhenLoggedAsync();
        Assert.That(log.Of(LimitReached), Is.Empty);
        await using ShmStream tooMany = await ShmStream.ConnectAsync(Address, Options);

        IOException failure = Assert.ThrowsAsync<IOException>(
            () => tooMany.ReadAsync(new byte[1]).AsTask().Bounded())!;
        Assert.That(failure.Message, Does.Contain("MaxWaitingStreams = 4 streams wait to be accepted."));
        Assert.That(
            (await log.WaitForAsync(LimitReached)).Message,
            Does.StartWith($"MaxWaitingStreams = {MaxWaiting} is reached"));
        await using ShmStream accepted = await listener.AcceptAsync().Bounded();
        clients[0].WriteByte(7);
        Assert.That(accepted.ReadByte(), Is.EqualTo(7));
        foreach (ShmStream client in clients)
        {
            await client.DisposeAsync();
        }
    }

    private static async Task EchoAsync(ShmStream stream)
    {
        await using (stream)
        {
            byte[] buffer = new byte[10];
            while (await stream.ReadAsync(buffer) is > 0 and int read)
            {
                await stream.WriteAsync(buffer.AsMemory(0, read));
            }
        }
    }

    private ShmStreamListener Start(Action<ShmStreamListenerOptions>? change = null)
    {
        ShmStreamListenerOptions options = ListenerOptions;
        change?.Invoke(options);
        var listener = new ShmStreamListener(Address, options);
        listener.Start();
        return listener;
    }
}
