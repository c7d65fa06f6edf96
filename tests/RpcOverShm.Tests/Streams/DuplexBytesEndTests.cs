namespace RpcOverShm.Tests.Streams;

/// <summary>The end of a byte stream on either side, and its effect on the other side.</summary>
public class DuplexBytesEndTests : StreamFixture
{
    private readonly byte[] _buffer = new byte[1000];

    [Test]
    public void Close_AfterAWrite_LetsThePeerReadItAndThenTheEnd()
    {
        One.Write("last words"u8);

        One.Close();

        Assert.That(Other.Read(_buffer), Is.EqualTo(10));
        Assert.That(Other.Read(_buffer), Is.Zero);
        Assert.That(Other.Read(_buffer), Is.Zero, "And again.");
    }

    [Test]
    public void Close_WithAFullRing_StillTellsTheEnd()
    {
        TestThread writer = TestThread.Start("writer", () => Assert.That(
            () => One.Write(new byte[1 << 20]), Throws.InstanceOf<ObjectDisposedException>()));
        Assert.That(() => Streams.Links.ClientSegment.Own.Tail, Is.GreaterThan(50_000).After(20_000, 2));

        One.Close();
        writer.Join();

        int read = 0;
        int count;
        while ((count = Other.Read(_buffer)) > 0)
        {
            read += count;
        }

        Assert.That(read, Is.GreaterThan(50_000));
    }

    [Test]
    public void PeersDeath_BehindItsBytes_ComesAfterThemAsAnError()
    {
        One.Write("last words"u8);

        Streams.Links.Wires.ClientWire.ShutDown();

        Assert.That(() => Streams.Links.Server.IsPeerGone, Is.True.After(20_000, 2));
        Assert.That(Other.Read(_buffer), Is.EqualTo(10));
        Assert.That(() => Other.Read(_buffer), Throws.TypeOf<IOException>().With.Message.Contains("is gone"));
        Assert.That(() => Other.Write("x"u8), Throws.TypeOf<IOException>());
    }

    [Test]
    public void PeersDeath_WhileOneReads_EndsTheRead([Values] bool isBlocking)
    {
        Task read = StartRead(isBlocking);

        Streams.Links.Wires.ClientWire.ShutDown();

        Assert.That(async () => await read.Bounded(), Throws.TypeOf<IOException>());
    }

    [Test]
    public void PeersDeath_WhileOneWrites_EndsTheWrite([Values] bool isBlocking)
    {
        byte[] lots = new byte[1 << 20];
        Task write = isBlocking
            ? Timeouts.OnThread(() => Other.Write(lots))
            : Other.WriteAsync(lots, CancellationToken.None).AsTask();
        Assert.That(() => Streams.Links.ServerSegment.Own.Tail, Is.GreaterThan(50_000).After(20_000, 2));

        Streams.Links.Wires.ClientWire.ShutDown();

        Assert.That(async () => await write.Bounded(), Throws.TypeOf<IOException>());
    }

    [Test]
    public void Close_WhileOneReadsHere_EndsTheRead([Values] bool isBlocking)
    {
        Task read = StartRead(isBlocking);

        TestThread.Start("closer", Other.Close).Join();

        Assert.That(async () => await read.Bounded(), Throws.InstanceOf<ObjectDisposedException>());
    }

    [Test]
    public void Close_AsAReadBegins_EndsTheReadAsDisposed()
    {
        for (int round = 0; round < 300; round++)
        {
            using StreamPair streams = new();
            using Barrier start = new(2);
            Task read = Timeouts.OnThread(() =>
            {
                start.SignalAndWait();
                _ = streams.Other.Read(_buffer);
            });
            TestThread closer = TestThread.Start("closer", () =>
            {
                start.SignalAndWait();
                streams.Other.Close();
            });
            closer.Join();

            Assert.That(async () => await read.Bounded(), Throws.InstanceOf<ObjectDisposedException>(), $"{round}");
        }
    }

    // The write begins to wait for the event loop at any moment of the close, which may take the stream from its loop.
    [Test]
    public void Close_AsAWriteBeginsToWait_EndsTheWrite([Values] bool isByThisSide)
    {
        for (int round = 0; round < 300; round++)
        {
            using StreamPair streams = new();
            using Barrier start = new(2);
            Task write = Timeouts.OnThread(() =>
            {
                start.SignalAndWait();
                return streams.One.WriteAsync(new byte[100_000], CancellationToken.None).AsTask();
            }).Unwrap();
            TestThread closer = TestThread.Start("closer", () =>
            {
                start.SignalAndWait();
                Thread.SpinWait(round * 10);
                Action close = isByThisSide ? streams.One.Close : streams.Links.Wires.ServerWire.ShutDown;
                close();
            });
            closer.Join();

            Assert.That(
                async () => await write.Bounded(),
                isByThisSide ? Throws.InstanceOf<ObjectDisposedException>() : Throws.TypeOf<IOException>(),
                $"{round}");
        }
    }

    [Test]
    public void Close_Afterwards_NothingIsReadOrWrittenHere()
    {
        Other.Close();
        Other.Close();

        Assert.That(() => Other.Read(_buffer), Throws.InstanceOf<ObjectDisposedException>());
        Assert.That(() => Other.Write("x"u8), Throws.InstanceOf<ObjectDisposedException>());
    }

    [Test]
    public void Write_AfterThePeersClose_IsAnError()
    {
        One.Close();

        Assert.That(() => Streams.Links.Server.IsPeerGone, Is.True.After(20_000, 2));
        Assert.That(() => Other.Write("x"u8), Throws.TypeOf<IOException>());
    }

    private Task<int> StartRead(bool isBlocking) => isBlocking
        ? Timeouts.OnThread(() => Other.Read(_buffer))
        : Other.ReadAsync(_buffer, CancellationToken.None).AsTask();
}
