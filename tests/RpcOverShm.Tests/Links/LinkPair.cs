using System.Diagnostics;
using System.Net.Sockets;
using Microsoft.Extensions.Logging;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Segments;

namespace RpcOverShm.Tests.Links;

/// <summary>
/// Both ends of one link in this process: a real socket and two segments, each mapped twice, as after a handshake. The
/// test chooses the sizes; no handshake limits them. A writer with a second ring has moved there, unless the test wants
/// to see that itself. The owner of an end must close it.
/// </summary>
internal sealed class LinkPair : IDisposable
{
    public const int SmallRing = 64 << 10;

    public LinkPair(
        long clientRing = SmallRing,
        long serverRing = SmallRing,
        uint callWindow = 64 << 10,
        uint maxCalls = 100,
        ConnectionPurpose purpose = ConnectionPurpose.Calls,
        bool areGrown = true)
    {
        ClientSegment = new MappedSegment(clientRing);
        ServerSegment = new MappedSegment(serverRing);
        var clientLimits = new PeerLimits(clientRing, callWindow, 0, 64 << 10);
        var serverLimits = new PeerLimits(serverRing, callWindow, maxCalls, 64 << 10);
        var id = Guid.NewGuid();
        Client = new PeerLink(
            Sockets.ClientWire,
            ClientSegment.Own,
            ServerSegment.View,
            HostSystem.Current.CreateSignal(),
            Sockets.ClientWire.Peer,
            id,
            Settings(purpose, clientLimits, Logger),
            serverLimits,
            isAcceptor: false);
        Server = new PeerLink(
            Sockets.ServerWire,
            ServerSegment.Own,
            ClientSegment.View,
            HostSystem.Current.CreateSignal(),
            Sockets.ServerWire.Peer,
            id,
            Settings(purpose, serverLimits, Logger),
            clientLimits,
            isAcceptor: true);
        if (areGrown)
        {
            Grow(Client, Server);
            Grow(Server, Client);
        }
    }

    public PeerLink Client { get; }

    public PeerLink Server { get; }

    /// <summary>The log of both ends.</summary>
    public LogGuard Logger { get; } = new();

    /// <summary>The segment that the client writes, for tests that corrupt it.</summary>
    public MappedSegment ClientSegment { get; }

    /// <summary>The segment that the server writes, for tests that corrupt it.</summary>
    public MappedSegment ServerSegment { get; }

    public SocketPair Sockets { get; } = new();

    public static ConnectionSettings Settings(
        ConnectionPurpose purpose, PeerLimits limits, ILogger? logger = null) =>
        new()
        {
            Purpose = purpose,
            Limits = limits,
            ConnectTimeout = Timeouts.Wait,
            Logger = logger ?? new LogGuard(),
        };

    /// <summary>Moves a writer to its second ring, if it has one, with a record that its reader takes.</summary>
    public static void Grow(PeerLink from, PeerLink to)
    {
        int small = from.Writer.MaxPayloadBytes;
        long begun = Stopwatch.GetTimestamp();
        from.Writer.WantGrowth();
        while (from.OwnLimits.RingCapacity > SmallRing && from.Writer.MaxPayloadBytes == small)
        {
            Assert.That(Stopwatch.GetElapsedTime(begun), Is.LessThan(Timeouts.Wait), "The ring grows.");
            Assert.That(from.Writer.TryClaim(0, isControl: true, out RingClaim claim));
            if (claim.IsMoving)
            {
                from.Writer.Commit(claim, new RecordHeader(0, (byte)FrameKind.GoAway, 0, 0, 0, 0));
                from.Writer.Publish();
                Assert.That(to.Reader.TryRead(out _, out _));
                to.Reader.Release();
                to.Reader.PublishHead();
            }
        }
    }

    /// <summary>Makes a link over another socket, with the client's segments. It must not be left.</summary>
    public PeerLink LinkOver(Socket socket, PeerIdentity peer) => new(
        new SocketWire(socket),
        ClientSegment.Own,
        ServerSegment.View,
        HostSystem.Current.CreateSignal(),
        peer,
        Guid.NewGuid(),
        Settings(ConnectionPurpose.Calls, Client.OwnLimits, Logger),
        Client.PeerLimits,
        isAcceptor: false);

    /// <summary>
    /// Alternates the server's head between a wrong and a right one, until the client closes. Wakes what sleeps, but
    /// rings the event loop only when that has taken the last ring: a thousand needless rings are another violation.
    /// </summary>
    public TestThread FlickerHead() => TestThread.Start("flicker", () =>
    {
        while (!Client.IsClosed)
        {
            SharedMemoryOrder.WriteFenced(ref ServerSegment.Own.Head, 8);
            Thread.SpinWait(20);
            SharedMemoryOrder.WriteFenced(ref ServerSegment.Own.Head, 0);
            Server.WakePeerForSpace(
                IsClientSocketEmpty() ? WakeMethods.Futex | WakeMethods.Doorbell : WakeMethods.Futex);
        }
    });

    /// <summary>Closes both ends. The memory is freed once the users of both ends have left.</summary>
    public void Dispose()
    {
        var reason = new CloseReason(CloseKind.Local, "The test is over.");
        Client.Close(reason);
        Server.Close(reason);
        Sockets.Dispose();
    }

    private bool IsClientSocketEmpty()
    {
        try
        {
            return Sockets.Client.Available == 0;
        }
        catch (ObjectDisposedException)
        {
            return false; // The client has closed.
        }
    }
}
