using System.Diagnostics;
using System.Net.Sockets;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// Clients that misuse the socket after the handshake: they ring without end, send other bytes than doorbells, or pass
/// descriptors. They share an event loop with an innocent client, which must not be affected.
/// </summary>
internal sealed class HostileDoorbellTests : VictimFixture
{
    private const int NotPermitted = 1; // EPERM

    [TestCase(1)]
    [TestCase(100)]
    public async Task RingsWithoutEnd_IsClosed_AndOthersAreServedMeanwhile(int atOnce)
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);

        Task ringing = Task.Run(() => RingUntilClosed(peer, atOnce));
        await victim.AssertUnharmedAsync();
        await ringing.Bounded();

        LogEntry entry = await victim.Rig.Log.WaitForAsync(PeerViolation);
        Assert.That(entry.Message, Does.Contain("times without need"));
        await victim.AssertUnharmedAndRidOfAsync();
    }

    // Each ring of an honest client has a reason, however many there are.
    [Test]
    public async Task RingsForEachRecord_IsServed()
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        byte[] ring = [PeerLink.DoorbellByte];
        for (uint i = 1; i <= 1200; i++)
        {
            peer.StartUnary(new CallId(0, i, false));
            Assert.That(peer.TrySendBytes(ring));
            Assert.That((await peer.ReceiveAsync()).Read().Text(), Is.EqualTo("raw"));
        }

        await CallRig.WhenLoggedAsync();
        Assert.That(victim.Rig.Log.Of(PeerViolation), Is.Empty);
        await victim.AssertUnharmedAsync();
    }

    [TestCase("00")]
    [TestCase("02")]
    [TestCase("FF")]
    [TestCase("01010102")]
    [TestCase("5201", TestName = "Bytes: a refusal that is interrupted by a doorbell")]
    public async Task OtherBytes_AreAViolation(string bytes)
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);

        Assert.That(peer.TrySendBytes(Convert.FromHexString(bytes)));

        Assert.That(await peer.ClosedAsync(), Does.Contain("wrong magic number"));
        await victim.AssertUnharmedAndRidOfAsync();
    }

    // Urgent bytes are read in their place, so one may be a doorbell like any other. A kernel may refuse to send one.
    [TestCase(PeerLink.DoorbellByte)]
    [TestCase((byte)0x02)]
    [LinuxOnly("Pipes have no urgent bytes.")]
    public async Task UrgentByte_IsReadLikeAnyOther(byte urgent)
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        Assert.That(peer.TrySendBytes([PeerLink.DoorbellByte]));
        try
        {
            peer.Socket.Send([urgent], SocketFlags.OutOfBand);
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.OperationNotSupported)
        {
            return;
        }

        if (urgent == PeerLink.DoorbellByte)
        {
            peer.StartUnary(First);
            Assert.That((await peer.ReceiveAsync()).Read().Text(), Is.EqualTo("raw"));
            await victim.AssertUnharmedAsync();
        }
        else
        {
            Assert.That(await peer.ClosedAsync(), Does.Contain("wrong magic number"));
            await victim.AssertUnharmedAndRidOfAsync();
        }
    }

    // The event loop may find both at once, and is told of them once.
    [Test]
    public async Task DoorbellRightBeforeTheEnd_IsFollowedByTheEnd()
    {
        Victim victim = await StartVictimAsync();
        for (int i = 0; i < 100; i++)
        {
            using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
            peer.TrySendBytes([PeerLink.DoorbellByte]);
            peer.EndWire();
        }

        await victim.AssertUnharmedAndRidOfAsync();
    }

    // The rest may never come. Calls go on, because nothing else was said yet.
    [Test]
    public async Task RefusalThatNeverEnds_HarmsNobody()
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        Assert.That(peer.TrySendBytes("RPCO"u8));

        await victim.AssertUnharmedAsync();

        peer.Dispose();
        await victim.AssertUnharmedAndRidOfAsync();
    }

    // The kernel refuses the descriptor at its sender, or the server closes the connection.
    [Test]
    [LinuxOnly("Nothing but bytes passes through a pipe.")]
    public async Task DescriptorWithADoorbell_IsRefused()
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);

        bool isSent = TrySendDescriptor(peer.Socket);

        if (isSent)
        {
            Assert.That(await peer.ClosedAsync(), Does.Contain("a descriptor after the handshake"));
            await victim.AssertUnharmedAndRidOfAsync();
        }
        else
        {
            peer.StartUnary(First);
            Assert.That((await peer.ReceiveAsync()).Read().Text(), Is.EqualTo("raw"));
            await victim.AssertUnharmedAsync();
        }
    }

    // These may come before the server has asked the kernel to refuse descriptors. Then they count as the hello's.
    [Test]
    [LinuxOnly("Nothing but bytes passes through a pipe.")]
    public async Task DescriptorsRightBehindTheHello_AreRefusedOrAViolation()
    {
        Victim victim = await StartVictimAsync();
        int violations = 0;
        for (int i = 0; i < 20; i++)
        {
            using Socket socket = await UnixSockets.ConnectAsync(victim.Place);
            var id = Guid.NewGuid();
            using var own = SharedSegment.Create(RawPeer.Generous.RingCapacity, id);
            RawHandshake.Send(socket, RawHello.Of(HelloType.Client, RawPeer.Generous, id), own);
            violations += TrySendDescriptor(socket) ? 1 : 0;
            own.ReleaseHandle();
            using Handshake.ReceivedHello? welcome =
                await RawHandshake.ReceiveAsync(socket, CancellationToken.None).Bounded();
            Assert.That(
                welcome?.Hello.RefusalText, Is.Empty.Or.Contain("descriptors came with a handshake message"));
        }

        await victim.AssertUnharmedAndRidOfAsync();
        await CallRig.WhenLoggedAsync();
        Assert.That(victim.Rig.Log.Of(PeerViolation), Has.Count.LessThanOrEqualTo(violations));
    }

    private static void RingUntilClosed(RawPeer peer, int atOnce)
    {
        byte[] rings = new byte[atOnce];
        rings.AsSpan().Fill(PeerLink.DoorbellByte);
        var bound = Stopwatch.StartNew();
        while (peer.TrySendBytes(rings))
        {
            if (bound.Elapsed > Timeouts.Wait)
            {
                throw new TimeoutException("The victim takes doorbells without end.");
            }
        }
    }

    private static bool TrySendDescriptor(Socket socket)
    {
        using var file = SharedSegment.Create(RawPeer.Generous.RingCapacity, Guid.NewGuid());
        try
        {
            DescriptorPassing.Send(socket.SafeHandle, [PeerLink.DoorbellByte], [file.Handle]);
            return true;
        }
        catch (IOException exception) when (exception.HResult == NotPermitted)
        {
            return false;
        }
    }
}
