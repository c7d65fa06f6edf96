using System.Collections.Concurrent;
using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Connections;
using RpcOverShm.Tests.Links;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Clients;

/// <summary>
/// A subchannel whose pauses last an hour, so that none ends by itself. Its address has a listener once the test asks
/// for one; every client then meets a server worked by hand.
/// </summary>
internal sealed class SubchannelRig : IAsyncDisposable
{
    private readonly TestAddress _place = new();
    private readonly BlockingCollection<RawPeer> _accepted = [];
    private readonly List<RawPeer> _taken = [];
    private readonly RendezvousAddress _address;
    private Listener? _listener;

    /// <param name="address">Another address than the rig's own; null for that one.</param>
    public SubchannelRig(RendezvousAddress? address = null)
    {
        _address = address ?? _place.Address;
        var pause = TimeSpan.FromHours(1);
        Subchannel = new Subchannel(
            typeof(ShmChannel),
            _address,
            LinkPair.Settings(ConnectionPurpose.Calls, Hellos.Limits with { MaxCalls = 0 }),
            (link, onGoAway) =>
            {
                OnLink?.Invoke();
                return new Connection(link, SchedulingMode.Adaptive, accept: null, onGoAway);
            },
            new ReconnectBackoff(pause, pause),
            static (failure, _) => failure);
    }

    public Subchannel Subchannel { get; }

    /// <summary>Runs after each handshake, before the connection is taken into use.</summary>
    public Action? OnLink { get; set; }

    public Task<Connection> GetAsync(bool isWaitForReady = false) => Subchannel.GetAsync(isWaitForReady).AsTask();

    public void Listen(uint maxCalls = 10) => _listener = Listener.Start(
        _address,
        LinkPair.Settings(ConnectionPurpose.Calls, Hellos.Limits with { MaxCalls = maxCalls }),
        link => _accepted.Add(new RawPeer(link)));

    /// <summary>The server that the next client meets.</summary>
    public RawPeer TakeServer()
    {
        Assert.That(_accepted.TryTake(out RawPeer? peer, Timeouts.Wait), "A client has come.");
        _taken.Add(peer!);
        return peer!;
    }

    /// <summary>The server of a client that has come; null if there is none.</summary>
    public RawPeer? TryTakeServer() => _accepted.TryTake(out RawPeer? peer) ? peer : null;

    public async ValueTask DisposeAsync()
    {
        foreach (Connection connection in Subchannel.ShutDown())
        {
            connection.Close(Subchannel.ChannelDisposed);
            await connection.Closed.Bounded();
        }

        if (_listener is not null)
        {
            await _listener.DisposeAsync();
        }

        foreach (RawPeer peer in _accepted.Concat(_taken))
        {
            peer.Dispose();
        }

        Subchannel.Dispose();
        _accepted.Dispose();
        _place.Dispose();
    }
}
