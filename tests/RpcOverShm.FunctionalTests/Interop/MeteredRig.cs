using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Rings;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>
/// A rig with byte counters, which show compression where the API does not: the positions of both rings, or a counting
/// relay between channel and server. A compressed message of zeros shrinks to a thousandth.
/// </summary>
internal sealed class MeteredRig : IAsyncDisposable
{
    private readonly Func<ValueTask> _dispose;
    private readonly Func<long> _requestBytes;
    private readonly Func<long> _responseBytes;

    private MeteredRig(
        ChannelBase channel, Func<long> requestBytes, Func<long> responseBytes, Func<ValueTask> dispose)
    {
        Channel = channel;
        _requestBytes = requestBytes;
        _responseBytes = responseBytes;
        _dispose = dispose;
    }

    public ChannelBase Channel { get; }

    /// <summary>The number of bytes that the client has sent, including framing.</summary>
    public long RequestBytes => _requestBytes();

    /// <summary>The number of bytes that the server has sent, including framing.</summary>
    public long ResponseBytes => _responseBytes();

    public static async Task<MeteredRig> StartAsync(RigKind kind, ServerServiceDefinition service)
    {
        CallRig rig = await CallRig.StartAsync(kind, options: null, service);
        switch (rig)
        {
            case ShmRig shm:
                return new MeteredRig(
                    rig.Channel,
                    () => LinkOf(shm.OnlyConnection).Reader.Position,
                    () => Volatile.Read(ref TailOf(LinkOf(shm.OnlyConnection).Writer)),
                    rig.DisposeAsync);
            case GrpcDotNetRig dotNet:
                string path = dotNet.SocketPath + ".relay";
                var socketRelay = new CountingRelay(
                    new UnixDomainSocketEndPoint(path), new UnixDomainSocketEndPoint(dotNet.SocketPath));
                return Relayed(rig, socketRelay, dotNet.OpenChannel(path));
            default:
                var relay = new CountingRelay(
                    new IPEndPoint(IPAddress.Loopback, 0), IPEndPoint.Parse(rig.Channel.Target));
                return Relayed(rig, relay, new Channel(relay.EndPoint.ToString(), ChannelCredentials.Insecure));
        }
    }

    public ValueTask DisposeAsync() => _dispose();

    private static MeteredRig Relayed(CallRig rig, CountingRelay relay, ChannelBase channel) =>
        new(channel, () => relay.UpBytes, () => relay.DownBytes, async () =>
        {
            await channel.ShutdownAsync().Bounded();
            await rig.DisposeAsync();
            await relay.DisposeAsync();
        });

    // No API exposes the positions.
    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_link")]
    private static extern ref PeerLink LinkOf(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_tail")]
    private static extern ref long TailOf(RingWriter writer);
}
