using System.Diagnostics;
using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Segments;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Segments;
using RpcOverShm.Tests.Systems;
using RpcOverShm.Tests.Windows;

namespace RpcOverShm.Tests.Links;

/// <summary>
/// Both ends of one link in this process: a real wire and two segments, each mapped twice, as after a handshake. The
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
        bool areGrown = true,
        WirePair? wires = null)
    {
        Wires = wires ?? new WirePair();
        ClientSegment = new MappedSegment(clientRing);
        ServerSegment = new MappedSegment(serverRing);
        var clientLimits = new PeerLimits(clientRing, callWindow, 0, 64 << 10);
        var serverLimits = new PeerLimits(serverRing, callWindow, maxCalls, 64 << 10);
        var id = Guid.NewGuid();
        (Signal clientSignal, Signal serverSignal) = CreateSignals();
        Client = new PeerLink(
            Wires.ClientWire,
            ClientSegment.Own,
            ServerSegment.View,
            clientSignal,
            Wires.ClientWire.Peer,
            id,
            Settings(purpose, clientLimits, Logger),
            serverLimits,
            isAcceptor: false);
        Server = new PeerLink(
            Wires.ServerWire,
            ServerSegment.Own,
            ClientSegment.View,
            serverSignal,
            Wires.ServerWire.Peer,
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

    /// <summary>The ends of the wire, each of which belongs to its end of the link.</summary>
    public WirePair Wires { get; }

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

    /// <summary>Makes a link over another wire, with the client's segments. It must not be left.</summary>
    public PeerLink LinkOver(Wire wire, PeerIdentity peer) => new(
        wire,
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
                IsClientWireEmpty() ? WakeMethods.Futex | WakeMethods.Doorbell : WakeMethods.Futex);
        }
    });

    /// <summary>Closes both ends. The memory is freed once the users of both ends have left.</summary>
    public void Dispose()
    {
        var reason = new CloseReason(CloseKind.Local, "The test is over.");
        Client.Close(reason);
        Server.Close(reason);
    }

    private (Signal Client, Signal Server) CreateSignals()
    {
        Signal client = HostSystem.Current.CreateSignal();
        Signal server = HostSystem.Current.CreateSignal();
        client.Attach(WordsOf(ClientSegment.Own, ServerSegment.View), Offer(server));
        server.Attach(WordsOf(ServerSegment.Own, ClientSegment.View), Offer(client));
        return (client, server);

        static SignalWords WordsOf(SharedSegment own, SharedSegment peers) => new(
            new SharedWord(ref own.Tail),
            new SharedWord(ref own.Head),
            new SharedWord(ref peers.Tail),
            new SharedWord(ref peers.Head));

        static IReadOnlyList<SafeHandle> Offer(Signal signal) =>
            OperatingSystem.IsWindows() ? Handles.OfPeer(signal) : signal.Offer;
    }

    private bool IsClientWireEmpty()
    {
        try
        {
            return !Wires.ClientWire.IsReadable(0);
        }
        catch (ObjectDisposedException)
        {
            return false; // The client has closed.
        }
    }
}
