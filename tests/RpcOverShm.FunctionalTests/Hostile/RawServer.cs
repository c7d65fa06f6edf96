using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>A scripted server: listens at a channel's address and returns a raw peer per connection.</summary>
internal sealed class RawServer : IDisposable
{
    private readonly RawDoor _door;

    /// <param name="place">The path of a socket; on Windows the name of a pipe.</param>
    public RawServer(string place) => _door = new RawDoor(place);

    /// <summary>Accepts the next client, without a handshake.</summary>
    public Task<Wire> AcceptWireAsync() => _door.AcceptAsync().AsTask().Bounded();

    /// <summary>Accepts the next client and completes an honest handshake.</summary>
    /// <param name="limits">The limits in the hello; null for generous ones.</param>
    /// <param name="own">The server's segment, of which the second ring is not used; null for an honest one.</param>
    public async Task<RawPeer> AcceptAsync(PeerLimits? limits = null, SharedSegment? own = null)
    {
        while (true)
        {
            Wire client = await AcceptWireAsync();
            try
            {
                return await RawPeer.AcceptAsync(client, limits, hasSecondRing: own is null, own).Bounded();
            }
            catch (Exception exception) when (exception is IOException or SegmentException)
            {
                // The client gave up while it waited; it connects again. The handles that its hello names are gone.
                client.Dispose();
            }
        }
    }

    /// <summary>Accepts the next client and waits for its first call.</summary>
    public async Task<RawPeer> AcceptCallAsync(PeerLimits? limits = null, SharedSegment? own = null)
    {
        RawPeer peer = await AcceptAsync(limits, own);
        await peer.ReceiveAsync(FrameKind.CallStart);
        return peer;
    }

    public void Dispose() => _door.Dispose();
}
