using System.Collections.Concurrent;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Connections;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Links;

/// <summary>The base of fixtures with an address, at which the tests listen. Closes all links after the test.</summary>
public abstract class ListenerFixture
{
    private protected ConcurrentQueue<PeerLink> Links { get; } = new();

    private protected TestDirectory Directory { get; } = new();

    private protected RendezvousAddress Address { get; private set; } = null!;

    /// <summary>The address with the paths of its files.</summary>
    private protected SocketAddress Files => (SocketAddress)Address;

    [SetUp]
    public void MakeAddress() => Address = OperatingSystem.IsWindows()
        ? TestAddress.New()
        : RendezvousAddress.Parse("shm://x", Directory.Combine("run"));

    [TearDown]
    public void CloseAll()
    {
        foreach (PeerLink link in Links)
        {
            new RawPeer(link).Dispose();
        }

        Directory.Dispose();
    }

    private protected static ConnectionSettings Settings(LogGuard? logger = null) =>
        LinkPair.Settings(ConnectionPurpose.Calls, Hellos.Limits, logger);

    private protected Listener Start(LogGuard? logger = null) =>
        Listener.Start(Address, Settings(logger), Links.Enqueue);

    private protected async Task<PeerLink> ConnectAsync()
    {
        PeerLink link = await ClientHandshake.ConnectAsync(Address, Settings(), CancellationToken.None).Bounded();
        Links.Enqueue(link);
        return link;
    }
}
