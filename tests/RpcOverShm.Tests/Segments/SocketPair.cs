using System.Net.Sockets;

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
    }

    /// <summary>The end that connected.</summary>
    public Socket Client { get; }

    /// <summary>The end that was accepted.</summary>
    public Socket Server { get; }

    public void Dispose()
    {
        Client.Dispose();
        Server.Dispose();
    }
}
