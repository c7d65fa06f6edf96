using System.Net.Sockets;

namespace RpcOverShm.Links;

/// <summary>A client that was accepted and whose hello is not complete.</summary>
internal sealed class PendingClient(Socket socket, PeerIdentity identity, TimeSpan arrived)
{
    public Socket Socket => socket;

    public PeerIdentity Identity => identity;

    /// <summary>The time of its arrival, on the clock of the doorman.</summary>
    public TimeSpan Arrived => arrived;

    public HelloReceiver Receiver { get; } = new(socket);
}
