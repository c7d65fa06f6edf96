using System.Net.Sockets;

namespace RpcOverShm.Testing;

/// <summary>Makes sockets of the kind that clients and servers meet at.</summary>
public static class UnixSockets
{
    /// <summary>Returns a socket that is neither bound nor connected.</summary>
    public static Socket New() => new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

    public static Socket Connect(string path)
    {
        Socket socket = New();
        socket.Connect(new UnixDomainSocketEndPoint(path));
        return socket;
    }

    public static async Task<Socket> ConnectAsync(string path)
    {
        Socket socket = New();
        await socket.ConnectAsync(new UnixDomainSocketEndPoint(path));
        return socket;
    }

    public static Socket Listen(string path, int backlog = int.MaxValue)
    {
        Socket socket = New();
        socket.Bind(new UnixDomainSocketEndPoint(path));
        socket.Listen(backlog);
        return socket;
    }
}
