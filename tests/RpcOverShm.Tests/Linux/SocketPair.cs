using System.Net.Sockets;
using RpcOverShm.Linux;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Linux;

/// <summary>The two ends of a wire with their sockets, for what no wire sends.</summary>
internal sealed class SocketPair : WirePair
{
    public SocketPair()
        : this(Connect())
    {
    }

    private SocketPair((Socket Client, Socket Server) ends)
        : base((new SocketWire(ends.Client), new SocketWire(ends.Server))) => (Client, Server) = ends;

    /// <summary>The end that connected.</summary>
    public Socket Client { get; }

    /// <summary>The end that was accepted.</summary>
    public Socket Server { get; }

    private static (Socket Client, Socket Server) Connect()
    {
        using var directory = new TestDirectory();
        using Socket listener = UnixSockets.Listen(directory.Combine("s"), backlog: 1);
        return (UnixSockets.Connect(directory.Combine("s")), listener.Accept());
    }
}
