using Microsoft.Extensions.Logging;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Tests.Segments;

namespace RpcOverShm.Tests.Links;

/// <summary>
/// Both ends of one link in this process: a real socket, two segments, each mapped twice, as a finished handshake
/// leaves them. The sizes are the test's to choose; no handshake limits them. Who builds on an end ends it.
/// </summary>
internal sealed class LinkPair : IDisposable
{
    public const int SmallRing = 64 << 10;

    private readonly SocketPair _sockets = new();

    public LinkPair(
        long clientRing = SmallRing,
        long serverRing = SmallRing,
        uint callWindow = 64 << 10,
        uint maxCalls = 100,
        ConnectionPurpose purpose = ConnectionPurpose.Calls)
    {
        ClientSegment = new MappedSegment(clientRing);
        ServerSegment = new MappedSegment(serverRing);
        var clientLimits = new PeerLimits(clientRing, callWindow, 0, 64 << 10);
        var serverLimits = new PeerLimits(serverRing, callWindow, maxCalls, 64 << 10);
        var id = Guid.NewGuid();
        Client = new PeerLink(
            _sockets.Client,
            ClientSegment.Own,
            ServerSegment.View,
            PeerIdentity.Of(_sockets.Client),
            id,
            Settings(purpose, clientLimits, Logger),
            serverLimits,
            isAcceptor: false);
        Server = new PeerLink(
            _sockets.Server,
            ServerSegment.Own,
            ClientSegment.View,
            PeerIdentity.Of(_sockets.Server),
            id,
            Settings(purpose, serverLimits, Logger),
            clientLimits,
            isAcceptor: true);
    }

    public PeerLink Client { get; }

    public PeerLink Server { get; }

    /// <summary>Where both ends log.</summary>
    public LogGuard Logger { get; } = new();

    /// <summary>What the client writes, for tests that spoil it.</summary>
    public MappedSegment ClientSegment { get; }

    /// <summary>What the server writes, for tests that spoil it.</summary>
    public MappedSegment ServerSegment { get; }

    public SocketPair Sockets => _sockets;

    public static ConnectionSettings Settings(
        ConnectionPurpose purpose, PeerLimits limits, ILogger? logger = null) =>
        new()
        {
            Purpose = purpose,
            Limits = limits,
            ConnectTimeout = Timeouts.Wait,
            Logger = logger ?? new LogGuard(),
        };

    /// <summary>Closes both ends. The memory goes when whoever uses an end has left it.</summary>
    public void Dispose()
    {
        var reason = new CloseReason(CloseKind.Local, "The test is over.");
        Client.Close(reason);
        Server.Close(reason);
        _sockets.Dispose();
    }
}
