using RpcOverShm.Links;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Links;
using RpcOverShm.Tests.Linux;
using RpcOverShm.Tests.Segments;

namespace RpcOverShm.Tests.Loans;

/// <summary>
/// Both ends of one link whose sides have agreed on loans or handles, in this process, as after a handshake.
/// </summary>
internal sealed class LoanLinks : IDisposable
{
    private const long Ring = LinkPair.SmallRing;

    private readonly uint _features;
    private readonly MappedSegment _clientSegment = new(Ring);
    private readonly MappedSegment _serverSegment = new(Ring);

    public LoanLinks(long limit = 64 << 20, uint features = Hello.LoansFeature)
    {
        _features = features;
        var id = Guid.NewGuid();
        Client = MakeEnd(Sockets.ClientWire, _clientSegment.Own, _serverSegment.View, id, limit, isAcceptor: false);
        Server = MakeEnd(Sockets.ServerWire, _serverSegment.Own, _clientSegment.View, id, limit, isAcceptor: true);
    }

    /// <summary>The handles that each side keeps.</summary>
    public const int MaxHeld = 32;

    public PeerLink Client { get; }

    public PeerLink Server { get; }

    public SocketPair Sockets { get; } = new();

    public LogGuard Logger { get; } = new();

    public void Dispose()
    {
        var reason = new CloseReason(CloseKind.Local, "The test is over.");
        Client.Close(reason);
        Server.Close(reason);
        Sockets.Dispose();
    }

    private PeerLink MakeEnd(
        Wire wire,
        RpcOverShm.Segments.SharedSegment own,
        RpcOverShm.Segments.SharedSegment peer,
        Guid id,
        long limit,
        bool isAcceptor)
    {
        var limits = new PeerLimits(Ring, 64 << 10, 100, 64 << 10);
        ConnectionSettings settings = LinkPair.Settings(ConnectionPurpose.Calls, limits, Logger) with
        {
            Loans = new LoanLimits(limit, long.MaxValue),
            MaxHeldHandles = MaxHeld,
        };
        return new PeerLink(
            wire,
            own,
            peer,
            HostSystem.Current.CreateSignal(),
            wire.Peer,
            id,
            settings,
            limits,
            isAcceptor,
            _features);
    }
}
