using System.Net;
using System.Net.Sockets;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>A Unix domain socket, or TCP over loopback without Nagle's delay.</summary>
internal sealed class SocketArm(bool isTcp = false, StreamCodec? codec = null)
    : ByteStreamArm(isTcp ? "tcp" : "uds", codec)
{
    private static readonly TimeSpan s_retryPause = TimeSpan.FromMilliseconds(1);

    /// <summary>Listens at a path.</summary>
    public static Socket ListenUnix(string place)
    {
        Socket listener = MakeUnixSocket();
        listener.Bind(new UnixDomainSocketEndPoint(place));
        listener.Listen();
        return listener;
    }

    public static async Task<NetworkStream> ConnectUnixAsync(string place, CancellationToken cancellation = default)
    {
        Socket socket = MakeUnixSocket();
        while (true)
        {
            try
            {
                await socket.ConnectAsync(new UnixDomainSocketEndPoint(place), cancellation);
                return new NetworkStream(socket, ownsSocket: true);
            }
            catch (SocketException exception) when (exception.SocketErrorCode == SocketError.WouldBlock)
            {
                // The listener's backlog is full. The system fails such a connect at once, without an event for later.
                await Task.Delay(s_retryPause, cancellation);
            }
        }
    }

    public override Task<string> ServeAsync(string place)
    {
        Socket listener = isTcp ? ListenTcp() : ListenUnix(place);
        AcceptForever(async () => StreamOf(await listener.AcceptAsync()));
        return Task.FromResult(isTcp ? $"{((IPEndPoint)listener.LocalEndPoint!).Port}" : place);
    }

    public override async Task<Stream> ConnectAsync(string place, CallerKind caller)
    {
        if (!isTcp)
        {
            return await ConnectUnixAsync(place);
        }

        Socket socket = MakeTcpSocket();
        await socket.ConnectAsync(IPAddress.Loopback, int.Parse(place, CultureInfo.InvariantCulture));
        return StreamOf(socket);
    }

    private static Socket ListenTcp()
    {
        Socket listener = MakeTcpSocket();
        listener.Bind(new IPEndPoint(IPAddress.Loopback, port: 0));
        listener.Listen();
        return listener;
    }

    private NetworkStream StreamOf(Socket socket)
    {
        if (isTcp)
        {
            socket.NoDelay = true;
        }

        return new NetworkStream(socket, ownsSocket: true);
    }

    private static Socket MakeUnixSocket() => new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

    private static Socket MakeTcpSocket() => new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
}
