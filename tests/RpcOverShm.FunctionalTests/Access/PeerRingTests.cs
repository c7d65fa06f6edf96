using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.FunctionalTests.Access;

/// <summary>Rings of the peer that are too large, or full of holes, do not become memory of this process.</summary>
internal sealed class PeerRingTests : VictimFixture
{
    private const int LimitReached = 109;
    private const long DefaultLimit = 16 << 20;

    // A hole that is read becomes a page, which is charged to the process that reads it.
    [TestCase(64 << 10, "has holes: of 17 pages from byte 0 on, 0 are there")]
    [TestCase(DefaultLimit, "has holes: of 17 pages from byte 0 on, 0 are there")]
    [TestCase(2 * DefaultLimit, "Ring.MaxPeerCapacity of the server allows")]
    [TestCase(1L << 30, "Ring.MaxPeerCapacity of the server allows")]
    [LinuxOnly("A section of Windows has no holes.")]
    public async Task ThreeHellosOfHoles_CostTheServerNothing(long ring, string complaint)
    {
        Victim victim = await StartVictimAsync();
        long before = SharedMemoryOfSelf();
        var files = new List<SafeFileHandle>();
        var sockets = new List<Socket>();
        for (int i = 0; i < 3; i++)
        {
            SafeFileHandle file = Holes(SegmentLayout.SizeBytes(ring));
            files.Add(file);
            Socket socket = await UnixSockets.ConnectAsync(victim.Place);
            sockets.Add(socket);
            DescriptorPassing.Send(socket.SafeHandle, HelloOf(ring).Encode(), [file]);
            using Handshake.ReceivedHello? answer =
                await RawHandshake.ReceiveAsync(socket, CancellationToken.None).Bounded();
            Assert.That(answer!.Hello.RefusalText, Does.Contain(complaint));
        }

        long growth = SharedMemoryOfSelf() - before;
        TestContext.Out.WriteLine($"The server maps {growth >> 10} KiB more.");
        Assert.That(growth, Is.LessThan(1 << 20));
        Assert.That(files.Select(file => FileFacts.OfDescriptor(file).AllocatedBytes), Is.All.Zero);
        sockets.ForEach(socket => socket.Dispose());
        files.ForEach(file => file.Dispose());
        await victim.AssertUnharmedAndRidOfAsync();
    }

    [Test]
    [Category("Attack")]
    [LinuxOnly("A section of Windows has no holes.")]
    [Long(
        "The attack measures newcomers for seconds, up to three times.",
        "PeerRingTests.ThreeHellosOfHoles_CostTheServerNothing")]
    public async Task HellosOfHoles_HoldNobodyUp()
    {
        Victim victim = await StartVictimAsync();
        using SafeFileHandle holes = Holes(SegmentLayout.SizeBytes(DefaultLimit));
        byte[] hello = HelloOf(DefaultLimit).Encode();
        var meter = new FrontDoorMeter(
            victim.Rig.Address, options => options.Connect.RuntimeDirectory = victim.Rig.Directory);

        await meter.AssertHarmlessAsync((stands, over) => Timeouts.OnThread(() =>
        {
            int refused = 0;
            while (!over.IsCompleted)
            {
                using Socket socket = UnixSockets.Connect(victim.Place);
                DescriptorPassing.Send(socket.SafeHandle, hello, [holes]);
                using Handshake.ReceivedHello? answer =
                    RawHandshake.ReceiveAsync(socket, CancellationToken.None).Bounded().GetAwaiter().GetResult();
                Assert.That(answer!.Hello.RefusalText, Does.Contain("has holes"));
                refused++;
                stands();
            }

            TestContext.Out.WriteLine($"{refused} hellos were refused.");
        }));

        Assert.That(FileFacts.OfDescriptor(holes).AllocatedBytes, Is.Zero);
        await victim.AssertUnharmedAndRidOfAsync();
    }

    [TestCase(1 << 20, true)]
    [TestCase(2 << 20, true)]
    [TestCase(4 << 20, false)]
    public async Task Limit_OfTheServer_TakesRingsUpToIt(int clientRing, bool isTaken)
    {
        await AssertLimitAsync(clientRing, isTaken, atServer: true);
    }

    [TestCase(1 << 20, true)]
    [TestCase(2 << 20, true)]
    [TestCase(4 << 20, false)]
    public async Task Limit_OfTheClient_TakesRingsUpToIt(int serverRing, bool isTaken)
    {
        await AssertLimitAsync(serverRing, isTaken, atServer: false);
    }

    [Test]
    public async Task Limit_OfAStreamListener_RefusesALargerRing()
    {
        using var directory = new TestDirectory();
        await using var listener = new ShmStreamListener(directory.AddressOf("s"), new ShmStreamListenerOptions
        {
            Listen = { RuntimeDirectory = directory.Option },
            Ring = { MaxPeerCapacity = 1 << 20 },
        });
        listener.Start();
        var options = new ShmStreamOptions
        {
            Connect = { RuntimeDirectory = directory.Option },
            Ring = { Capacity = 2 << 20 },
        };

        Assert.That(
            () => ShmStream.ConnectAsync(directory.AddressOf("s"), options),
            Throws.TypeOf<ShmTransportException>()
                .With.Message.Contains("exceeds the 1048576 that Ring.MaxPeerCapacity of the server allows"));
        options.Ring.Capacity = 1 << 20;
        await using ShmStream stream = await ShmStream.ConnectAsync(directory.AddressOf("s"), options).Bounded();
    }

    private static async Task AssertLimitAsync(int ring, bool isTaken, bool atServer)
    {
        const int Limit = 2 << 20;
        using var directory = new TestDirectory();
        using var log = new LogGuard();
        await using var server = new ShmServer(directory.AddressOf("x"), new ShmServerOptions
        {
            Listen = { RuntimeDirectory = directory.Option },
            Ring =
            {
                Capacity = atServer ? ShmDefaults.RingCapacity : ring,
                MaxPeerCapacity = atServer ? Limit : ShmDefaults.MaxPeerRingCapacity,
            },
            LoggerFactory = atServer ? log : null,
        });
        server.Services.Add(new Script().Build());
        await server.StartAsync();
        await using var channel = ShmChannel.ForAddress(directory.AddressOf("x"), new ShmChannelOptions
        {
            Connect = { RuntimeDirectory = directory.Option },
            Ring =
            {
                Capacity = atServer ? ring : ShmDefaults.RingCapacity,
                MaxPeerCapacity = atServer ? ShmDefaults.MaxPeerRingCapacity : Limit,
            },
            LoggerFactory = atServer ? null : log,
        });
        AsyncUnaryCall<Payload> call = new ScriptClient(channel.CreateCallInvoker()).UnaryAsync(Payloads.Of("x"));
        if (isTaken)
        {
            Assert.That((await call.ResponseAsync.Bounded()).Text(), Is.EqualTo("x"));
            Assert.That(log.Of(LimitReached), Is.Empty);
            return;
        }

        RpcException exception = Assert.ThrowsAsync<RpcException>(() => call.ResponseAsync.Bounded())!;
        Assert.That(exception.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(exception.Status.Detail, Does.Contain(
            $"ring of {ring} bytes exceeds the {Limit} that Ring.MaxPeerCapacity of the "
            + $"{(atServer ? "server" : "client")} allows."));
        Assert.That(
            (await log.WaitForAsync(LimitReached)).Message,
            Does.StartWith($"Ring.MaxPeerCapacity = {Limit} is reached: a {(atServer ? "client" : "server")} with"));
    }

    private static Hello HelloOf(long ring) =>
        RawHello.Of(HelloType.Client, RawPeer.Generous with { RingCapacity = ring });

    private static SafeFileHandle Holes(long bytes) =>
        Descriptors.MemoryFile(bytes, Descriptors.AllRequired, allocatedBytes: 0);

    // The pages of shared memory that this process, which is the server's too, has mapped and touched.
    private static long SharedMemoryOfSelf() => long.Parse(
        File.ReadLines("/proc/self/status").First(line => line.StartsWith("RssShmem:", StringComparison.Ordinal))
            .Split(' ', StringSplitOptions.RemoveEmptyEntries)[1]) << 10;
}
