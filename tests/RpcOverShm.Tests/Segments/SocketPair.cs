using System.Net.Sockets;

namespace RpcOverShm.Tests.Segments;

/// <summary>The two ends of a real Unix socket, both in this process.</summary>
internal sealed class SocketPair : IDisposable
{
    public SocketPair()
    {
        using var directory = new TestDirectory();
        var endPoint = new UnixDomainSocketEndPoint(directory.Combine("s"));
        using var listener = NewSocket();
        listener.Bind(endPoint);
        listener.Listen(1);
        Client = NewSocket();
        Client.Connect(endPoint);
        Server = listener.Accept();
    }

    /// <summary>The end that connected.</summary>
    public Socket Client { get; }

    /// <summary>The end that was accepted.</summary>
    public Socket Server { get; }

    public static Socket NewSocket() => new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

    public void Dispose()
    {
        Client.Dispose();
        Server.Dispose();
    }
}
