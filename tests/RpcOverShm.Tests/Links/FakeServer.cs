using System.Net.Sockets;
using RpcOverShm.Linux;
using RpcOverShm.Tests.Linux;

namespace RpcOverShm.Tests.Links;

/// <summary>A listening socket at an address; the test plays the server.</summary>
internal sealed class FakeServer : IDisposable
{
    private readonly TestDirectory _directory = new();
    private readonly Socket _listener;

    public FakeServer(int backlog = 8)
    {
        Address = Addresses.Parse($"shm://{_directory.Combine("s")}", null);
        _listener = UnixSockets.Listen(Address.SocketPath, backlog);
    }

    public SocketAddress Address { get; }

    public Task<Socket> AcceptAsync() => _listener.AcceptAsync(CancellationToken.None).Bounded();

    /// <summary>Fills the queue: a further client connects only when these sockets are accepted.</summary>
    public List<Socket> FillQueue()
    {
        var waiting = new List<Socket>();
        try
        {
            while (true)
            {
                Socket socket = UnixSockets.New();
                waiting.Add(socket);
                socket.Blocking = false;
                socket.Connect(new UnixDomainSocketEndPoint(Address.SocketPath));
            }
        }
        catch (SocketException)
        {
            return waiting;
        }
    }

    public void Dispose()
    {
        _listener.Dispose();
        _directory.Dispose();
    }
}
