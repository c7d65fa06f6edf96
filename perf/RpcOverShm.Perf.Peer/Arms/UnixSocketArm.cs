using System.Net.Sockets;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>A Unix domain socket with messages of raw bytes.</summary>
internal class UnixSocketArm : ByteStreamArm
{
    public override string Name => "uds";

    public override Task<string> ServeAsync(string place)
    {
        Socket listener = MakeSocket();
        listener.Bind(new UnixDomainSocketEndPoint(place));
        listener.Listen();
        AcceptForever(async () => new NetworkStream(await listener.AcceptAsync(), ownsSocket: true));
        return Task.FromResult(place);
    }

    protected override async Task<Stream> ConnectAsync(string place, CallerKind caller)
    {
        Socket socket = MakeSocket();
        await socket.ConnectAsync(new UnixDomainSocketEndPoint(place));
        return new NetworkStream(socket, ownsSocket: true);
    }

    private static Socket MakeSocket() => new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
}
