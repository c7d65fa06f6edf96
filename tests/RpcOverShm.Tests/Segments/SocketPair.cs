using System.Net.Sockets;
using RpcOverShm.Linux;

namespace RpcOverShm.Tests.Segments;

/// <summary>The two ends of a real Unix socket, both in this process.</summary>
internal sealed class SocketPair : IDisposable
{
    public SocketPair()
    {
        using var directory = new TestDirectory();
        using Socket listener = UnixSockets.Listen(directory.Combine("s"), backlog: 1);
        Client = UnixSockets.Connect(directory.Combine("s"));
        Server = listener.Accept();
        ClientWire = new SocketWire(Client);
        ServerWire = new SocketWire(Server);
    }

    /// <summary>The end that connected.</summary>
    public Socket Client { get; }

    /// <summary>The end that was accepted.</summary>
    public Socket Server { get; }

    /// <summary>The end that connected, as links have it.</summary>
    public SocketWire ClientWire { get; }

    /// <summary>The end that was accepted, as links have it.</summary>
    public SocketWire ServerWire { get; }

    public void Dispose()
    {
        Client.Dispose();
        Server.Dispose();
    }
}
