using System.Net.Sockets;
using RpcOverShm.Protocol;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// A server that is spoken by hand: it listens where a channel looks, and hands out its ends of connections.
/// </summary>
internal sealed class RawServer : IDisposable
{
    private readonly Socket _socket = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
    private readonly string _path;

    public RawServer(string path)
    {
        _path = path;
        _socket.Bind(new UnixDomainSocketEndPoint(path));
        _socket.Listen();
    }

    /// <summary>The next client's socket, before any handshake.</summary>
    public Task<Socket> AcceptSocketAsync() => _socket.AcceptAsync().Bounded();

    /// <summary>The next client, after an honest handshake.</summary>
    public async Task<RawPeer> AcceptAsync(PeerLimits? limits = null)
    {
        while (true)
        {
            Socket client = await AcceptSocketAsync();
            try
            {
                return await RawPeer.AcceptAsync(client, limits).Bounded();
            }
            catch (IOException)
            {
                // A client that has given up while it waited here; it comes again.
                client.Dispose();
            }
        }
    }

    public void Dispose()
    {
        _socket.Dispose();
        File.Delete(_path);
    }
}
