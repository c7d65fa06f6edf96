using System.Net.Sockets;
using Nerdbank.Streams;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A channel of Nerdbank.Streams' <c>MultiplexingStream</c>, with a Unix socket and one channel for each stream. It has
/// no blocking form.
/// </summary>
internal sealed class NerdbankArm() : ByteStreamArm("nerdbank-uds")
{
    private const string ChannelName = "perf";
    private const int ProtocolVersion = 3; // the newest that 2.14.411 runs

    public override bool Supports(LoadShape shape, CallerKind caller) =>
        caller == CallerKind.Async && base.Supports(shape, caller);

    public override Task<string> ServeAsync(string place)
    {
        Socket listener = SocketArm.ListenUnix(place);
        AcceptForever(async () =>
        {
            MultiplexingStream streams = Over(new NetworkStream(await listener.AcceptAsync(), ownsSocket: true));
            return (await streams.AcceptChannelAsync(ChannelName)).AsStream();
        });
        return Task.FromResult(place);
    }

    public override async Task<Stream> ConnectAsync(string place, CallerKind caller)
    {
        MultiplexingStream streams = Over(await SocketArm.ConnectUnixAsync(place));
        return (await streams.OfferChannelAsync(ChannelName)).AsStream();
    }

    private static MultiplexingStream Over(Stream socket) =>
        MultiplexingStream.Create(socket, new MultiplexingStream.Options { ProtocolMajorVersion = ProtocolVersion });
}
