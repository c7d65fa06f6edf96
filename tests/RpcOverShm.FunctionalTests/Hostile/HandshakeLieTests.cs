using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>Clients that fail the handshake: wrong descriptors, wrong figures, partial messages, silence.</summary>
[LinuxOnly("Its peer is played by hand over a Unix socket.")]
internal sealed class HandshakeLieTests : VictimFixture
{
    private const long Ring = 64 << 10;
    private const long SegmentBytes = SegmentLayout.HeaderSizeBytes + Ring;
    private const int ClientRefused = 4;

    private static readonly PeerLimits s_limits = new(Ring, PeerLimits.SmallestCallWindow, 0, 0);

    private static readonly Func<SafeFileHandle?> s_openRight = () => Sealed(SegmentBytes);

    public static IEnumerable<TestCaseData> DescriptorCases =>
    [
        Case(
            "regular file",
            () => File.OpenHandle(
                Path.Combine(AppContext.BaseDirectory, "RpcOverShm.dll"), FileMode.Open, FileAccess.Read),
            "not a memory file"),
        Case("pipe", Descriptors.Pipe, "not a memory file"),
        Case("socket", SocketEnd, "not a memory file"),
        Case("device", () => File.OpenHandle("/dev/zero", FileMode.Open, FileAccess.Read), "not a memory file"),
        Case("memory without seals", () => SegmentMemory.Create(SegmentBytes, SegmentBytes), "carries seals"),
        Case("memory that is too small", () => Sealed(SegmentBytes - 4096), "has 65536 bytes; it announced 69632"),
        Case("memory that is too large", () => Sealed(SegmentBytes + 4096), "has 73728 bytes; it announced 69632"),
        Case("memory of no bytes", () => Sealed(0), "has 0 bytes"),
        Case("none", () => null, "0 descriptors came"),
    ];

    public static IEnumerable<TestCaseData> Figures =>
    [
        Figure("ring of no bytes", s_limits with { RingCapacity = 0 }, "a ring of 0 bytes"),
        Figure("ring below zero", s_limits with { RingCapacity = -65536 }, "a ring of -65536 bytes"),
        Figure("ring that is no power of two", s_limits with { RingCapacity = Ring + 4096 }, "a ring of 69632 bytes"),
        Figure("ring that is too small", s_limits with { RingCapacity = 32 << 10 }, "a ring of 32768 bytes"),
        Figure("ring that is too large", s_limits with { RingCapacity = 1L << 40 }, "a ring of 1099511627776 bytes"),
        Figure("window of no bytes", s_limits with { CallWindow = 0 }, "a call window of 0 bytes"),
        Figure(
            "window that is too large",
            s_limits with { CallWindow = uint.MaxValue },
            "a call window of 4294967295 bytes"),
        Figure("more calls than can be told apart", s_limits with { MaxCalls = 65537 }, "65537 calls at a time"),
        Figure(
            "more metadata than is allowed",
            s_limits with { MaxMetadataBytes = uint.MaxValue },
            "4294967295 bytes of metadata"),
    ];

    public static IEnumerable<TestCaseData> Messages =>
    [
        Message("no handshake at all", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"u8.ToArray(), "wrong magic number"),
        Message("wrong magic number in the last byte", Changed(7, 1), "wrong magic number"),
        Message("length below the smallest", Changed(16, 5), "A handshake message of 5 bytes"),
        Message("length beyond the largest", Changed(18, 1), "A handshake message of 65600 bytes"),
        Message("length too short for its type", Changed(16, 30), "of type 1 with 30 bytes"),
        Message(
            "last byte missing",
            RawFrames.Shortened(RawHello.Of(HelloType.Client, s_limits)),
            "of type 1 with 63 bytes"),
        Message("type of a server", Changed(8, 2), "A client's hello was expected"),
        Message("type of nobody", Changed(8, 9), "of type 9"),
        Message("purpose of nobody", Changed(9, 7), "the client wants purpose 7"),
        Message("purpose of a stream", Changed(9, 2), "the client wants a byte stream"),
    ];

    [TestCaseSource(nameof(DescriptorCases))]
    [TestCaseSource(nameof(Figures))]
    [TestCaseSource(nameof(Messages))]
    public async Task Hello_ThatLies_IsRefused(byte[] hello, Func<SafeFileHandle?> open, string complaint)
    {
        Victim victim = await StartVictimAsync();
        using SafeFileHandle? descriptor = open();
        ProcessFacts before = ProcessFacts.OfSelf();
        using (Socket socket = await UnixSockets.ConnectAsync(victim.Place))
        {
            DescriptorPassing.Send(socket.SafeHandle, hello, descriptor is null ? [] : [descriptor]);
            await AssertRefusedAsync(victim, socket, complaint);
        }

        await Timeouts.Eventually(() => ProcessFacts.OfSelf().IsNoMoreThan(before));
        await victim.AssertUnharmedAndRidOfAsync();
    }

    [Test]
    public async Task Descriptors_TooMany_AreRefusedAndClosed([Values(2, 16, 17, 100)] int count)
    {
        Victim victim = await StartVictimAsync();
        ProcessFacts before = ProcessFacts.OfSelf();
        using (Socket socket = await UnixSockets.ConnectAsync(victim.Place))
        using (SafeFileHandle descriptor = Sealed(SegmentBytes))
        {
            RawDescriptorSender.SendMany(socket, HelloOf(s_limits), descriptor, count);
            await AssertRefusedAsync(
                victim, socket, count > 16 ? "more than 16 descriptors" : "descriptors came with a handshake message");
        }

        await Timeouts.Eventually(() => ProcessFacts.OfSelf().IsNoMoreThan(before));
        await victim.AssertUnharmedAndRidOfAsync();
    }

    // A hello may be incomplete for seconds, and in so many places.
    [Test]
    public async Task Descriptors_OfAnIncompleteHello_AreClosedButForOne()
    {
        Victim victim = await StartVictimAsync();
        using Socket socket = await UnixSockets.ConnectAsync(victim.Place);
        using SafeFileHandle descriptor = Sealed(SegmentBytes);
        int before = ProcessFacts.OfSelf().MemoryFiles;

        RawDescriptorSender.SendMany(socket, HelloOf(s_limits).AsSpan(0, 1), descriptor, 8);

        await Timeouts.Eventually(() => ProcessFacts.OfSelf().MemoryFiles == before + 1, "the server keeps one");
        await victim.AssertUnharmedAndRidOfAsync();
    }

    // Each byte carries as many descriptors as fit, so a hello of the largest length would bring thousands.
    [Test]
    public async Task Descriptors_TooManyInManyPieces_DoNotPileUp()
    {
        Victim victim = await StartVictimAsync();
        using Socket socket = await UnixSockets.ConnectAsync(victim.Place);
        using SafeFileHandle descriptor = Sealed(SegmentBytes);
        byte[] hello = HelloOf(s_limits);
        hello[16] = 0;
        hello[17] = 0x10;
        int most = 0;
        for (int i = 0; i < 1000; i++)
        {
            byte[] piece = i < hello.Length ? hello[i..(i + 1)] : [0];
            if (!RawDescriptorSender.TrySendMany(socket, piece, descriptor, 8))
            {
                break;
            }

            most = Math.Max(most, ProcessFacts.OfSelf().MemoryFiles);
        }

        Assert.That(
            most, Is.LessThan(300), "what the kernel holds in the socket is not counted, and what was taken is few");
        await victim.Rig.Log.WaitForAsync(ClientRefused);
        await Timeouts.Eventually(() => ProcessFacts.OfSelf().MemoryFiles <= 1);
        await victim.AssertUnharmedAndRidOfAsync();
    }

    [Test]
    public async Task Descriptors_TooManyAfterTheHandshake_EndTheConnectionOnly()
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        using SafeFileHandle descriptor = Sealed(SegmentBytes);

        // The kernel refuses them at their sender since Linux 6.16 (EPERM); an earlier one passes them on.
        if (RawDescriptorSender.TrySendMany(peer.Socket, HelloOf(s_limits), descriptor, 20))
        {
            await victim.Rig.Log.WaitForAsync(PeerViolation);
        }
        else
        {
            Assert.That(Marshal.GetLastPInvokeError(), Is.EqualTo(1));
            peer.Dispose();
        }

        await victim.AssertUnharmedAndRidOfAsync();
    }

    [Test]
    public async Task Hello_InPieces_IsWhole()
    {
        Victim victim = await StartVictimAsync();
        using Socket socket = await UnixSockets.ConnectAsync(victim.Place);
        using SafeFileHandle descriptor = Sealed(SegmentBytes);
        byte[] hello = HelloOf(s_limits);
        DescriptorPassing.Send(socket.SafeHandle, hello.AsSpan(0, 1), [descriptor]);
        for (int i = 1; i < hello.Length; i++)
        {
            DescriptorPassing.Send(socket.SafeHandle, hello.AsSpan(i, 1), []);
            await Task.Yield();
        }

        using Handshake.ReceivedHello? answer = await RawHandshake.ReceiveAsync(
            socket, CancellationToken.None).Bounded();
        Assert.That(answer!.Hello.Type, Is.EqualTo(HelloType.Server));
    }

    // A later version may use the reserved fields and add others, and still speak this one.
    [Test]
    public async Task Hello_OfALaterVersionThatSpeaksThisOne_IsTaken()
    {
        Victim victim = await StartVictimAsync();
        using Socket socket = await UnixSockets.ConnectAsync(victim.Place);
        using SafeFileHandle descriptor = Sealed(SegmentBytes);
        byte[] hello = [.. HelloOf(s_limits), .. Enumerable.Repeat((byte)0xFF, 16)];
        hello[12] = 2;    // HighestVersion
        hello[14] = 0xFF; // RefusalReason
        hello[16] = (byte)hello.Length;
        hello.AsSpan(20, 4).Fill(0xFF); // Features
        hello.AsSpan(60, 4).Fill(0xFF); // MaxRunning
        DescriptorPassing.Send(socket.SafeHandle, hello, [descriptor]);

        using Handshake.ReceivedHello? answer = await RawHandshake.ReceiveAsync(
            socket, CancellationToken.None).Bounded();
        Assert.That(answer!.Hello.Type, Is.EqualTo(HelloType.Server));
        Assert.That((answer.Hello.LowestVersion, answer.Hello.HighestVersion), Is.EqualTo(((ushort)1, (ushort)1)));
        Assert.That(answer.Hello.Features, Is.EqualTo(Hello.TopicsFeature), "The server agrees to what it knows.");
    }

    [Test]
    public async Task Close_InTheMiddleOfTheHandshake_LeavesNothing([Values(0, 1, 10, 24, 63, 64)] int bytes)
    {
        Victim victim = await StartVictimAsync();
        ProcessFacts before = ProcessFacts.OfSelf();
        for (int i = 0; i < 20; i++)
        {
            using Socket socket = await UnixSockets.ConnectAsync(victim.Place);
            using SafeFileHandle descriptor = Sealed(SegmentBytes);
            if (bytes > 0)
            {
                DescriptorPassing.Send(socket.SafeHandle, HelloOf(s_limits).AsSpan(0, bytes), [descriptor]);
            }
        }

        await Timeouts.Eventually(() => victim.Rig.Served.Count == 1);
        await Timeouts.Eventually(() => ProcessFacts.OfSelf().IsNoMoreThan(before));
        await victim.AssertUnharmedAndRidOfAsync();
    }

    // Half of the places, all of them, and more; none of the clients ever says a word.
    [TestCase(32, 3_600_000)]
    [TestCase(64, 3_600_000)]
    [TestCase(200, 3_600_000)]
    public async Task Silence_DoesNotKeepOthersOut(int clients, int timeoutMilliseconds)
    {
        using var directory = new TestDirectory();
        await using ShmServer server = await StartPatientAsync(
            directory, TimeSpan.FromMilliseconds(timeoutMilliseconds));

        Socket[] silent = await ConnectAsync(directory, clients);
        await using var channel = ShmChannel.ForAddress("shm://patient", new ShmChannelOptions
        {
            Connect = { RuntimeDirectory = directory.Option, Timeout = Timeouts.Wait },
        });

        Assert.That(new ScriptClient(channel.CreateCallInvoker()).Unary(Payloads.Of("x")).Text(), Is.EqualTo("x"));
        Array.ForEach(silent, socket => socket.Dispose());
    }

    [Test]
    public async Task Silence_IsRefusedInTime()
    {
        using var directory = new TestDirectory();
        await using ShmServer server = await StartPatientAsync(directory, TimeSpan.FromMilliseconds(500));
        long before = LimitEvents.CountOf("HandshakeTimeout");

        foreach (Socket socket in await ConnectAsync(directory, 32))
        {
            using Handshake.ReceivedHello? answer = await RawHandshake.ReceiveAsync(
                socket, CancellationToken.None).Bounded();
            Assert.That(answer!.Hello.RefusalText, Does.StartWith("No hello came in time: HandshakeTimeout is 0.5 s"));
            socket.Dispose();
        }

        Assert.That(LimitEvents.CountOf("HandshakeTimeout"), Is.GreaterThanOrEqualTo(before + 32));
    }

    [Test]
    public async Task Stop_WithSilentClients_DoesNotWaitForThem()
    {
        using var directory = new TestDirectory();
        await using ShmServer server = await StartPatientAsync(directory, TimeSpan.FromHours(1));
        using Socket socket = await UnixSockets.ConnectAsync(directory.Combine("patient.sock"));

        await server.StopAsync(TimeSpan.Zero).Bounded();

        Assert.That(directory.FileNames, Is.Empty);
    }

    private static async Task<ShmServer> StartPatientAsync(TestDirectory directory, TimeSpan handshakeTimeout)
    {
        var server = new ShmServer("shm://patient", new ShmServerOptions
        {
            Listen = { RuntimeDirectory = directory.Option, HandshakeTimeout = handshakeTimeout },
        });
        server.Services.Add(new Script().Build());
        await server.StartAsync();
        return server;
    }

    private static TestCaseData Case(string name, Func<SafeFileHandle?> open, string complaint) =>
        new(HelloOf(s_limits), open, complaint) { TestName = $"Descriptor: {name}" };

    private static TestCaseData Figure(string name, PeerLimits limits, string complaint) =>
        new(HelloOf(limits), s_openRight, complaint) { TestName = $"Figure: {name}" };

    private static TestCaseData Message(string name, byte[] message, string complaint) =>
        new(message, s_openRight, complaint) { TestName = $"Message: {name}" };

    private static byte[] HelloOf(PeerLimits limits) =>
        RawHello.Of(HelloType.Client, limits).Encode();

    private static byte[] Changed(int offset, byte value)
    {
        byte[] hello = HelloOf(s_limits);
        hello[offset] = value;
        return hello;
    }

    private static SafeFileHandle Sealed(long bytes) => Descriptors.MemoryFile(bytes, Descriptors.AllRequired);

    private static SafeFileHandle SocketEnd()
    {
        using Socket socket = UnixSockets.New();
        return Descriptors.Duplicate(socket.SafeHandle);
    }

    private static Task<Socket[]> ConnectAsync(TestDirectory directory, int clients) => Task.WhenAll(
        Enumerable.Range(0, clients).Select(_ => UnixSockets.ConnectAsync(directory.Combine("patient.sock"))));

    private static async Task AssertRefusedAsync(Victim victim, Socket socket, string complaint)
    {
        using Handshake.ReceivedHello? answer = await RawHandshake.ReceiveAsync(
            socket, CancellationToken.None).Bounded();
        LogEntry entry = await victim.Rig.Log.WaitForAsync(ClientRefused);

        Assert.That(answer!.Hello.Type, Is.EqualTo(HelloType.Refusal));
        Assert.That(answer.Hello.RefusalText, Does.Contain(complaint));
        Assert.That(entry.Message, Does.Contain(complaint));
    }
}
