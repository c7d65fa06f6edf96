using System.Net;
using System.Net.Sockets;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>TCP over loopback with messages of raw bytes, without Nagle's delay.</summary>
internal sealed class TcpArm : ByteStreamArm
{
    public override string Name => "tcp";

    public override Task<string> ServeAsync(string place)
    {
        var listener = new TcpListener(IPAddress.Loopback, port: 0);
        listener.Start();
        AcceptForever(async () => Stream(await listener.AcceptSocketAsync()));
        int port = ((IPEndPoint)listener.LocalEndpoint).Port;
        return Task.FromResult(port.ToString(CultureInfo.InvariantCulture));
    }

    protected override async Task<Stream> ConnectAsync(string place, CallerKind caller)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(IPAddress.Loopback, int.Parse(place, CultureInfo.InvariantCulture));
        return Stream(socket);
    }

    private static NetworkStream Stream(Socket socket)
    {
        socket.NoDelay = true;
        return new NetworkStream(socket, ownsSocket: true);
    }
}
