using System.Net.Sockets;

namespace RpcOverShm.Tests.Segments;

/// <summary>The two ends of a real Unix socket, both in this process.</summary>
internal sealed class SocketPair : IDisposable
{
    public SocketPair()
    {
        using var directory = new TestDirectory();
        using Socket listener = Listen(directory.Combine("s"), backlog: 1);
        Client = Connect(directory.Combine("s"));
        Server = listener.Accept();
    }

    /// <summary>The end that connected.</summary>
    public Socket Client { get; }

    /// <summary>The end that was accepted.</summary>
    public Socket Server { get; }

    public static Socket NewSocket() => new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

    public static Socket Connect(string path)
    {
        Socket socket = NewSocket();
        socket.Connect(new UnixDomainSocketEndPoint(path));
        return socket;
    }

    public static Socket Listen(string path, int backlog)
    {
        Socket socket = NewSocket();
        socket.Bind(new UnixDomainSocketEndPoint(path));
        socket.Listen(backlog);
        return socket;
    }

    public void Dispose()
    {
        Client.Dispose();
        Server.Dispose();
    }
}
