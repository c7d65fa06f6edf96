using System.Collections.Concurrent;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Systems;

/// <summary>A door at an address of its own with its thread, and pairs of wires that came through it.</summary>
internal sealed class TestDoor : IDisposable
{
    private readonly TestAddress _place = new();
    private readonly BlockingCollection<Wire> _accepted = [];
    private readonly Lock _connecting = new();

    public TestDoor()
    {
        Door = HostSystem.Current.Listen(Address, AccessPolicy.OwnUserOnly, NullLogger.Instance);
        Thread = new PollThread(isDoor: true);
        Thread.Add(Door.Listening, _ => Accept());
    }

    public RendezvousAddress Address => _place.Address;

    public Door Door { get; }

    /// <summary>The thread that accepts.</summary>
    public PollThread Thread { get; }

    public static Task<Wire> ConnectAsync(RendezvousAddress address, CancellationToken token = default) =>
        HostSystem.Current.ConnectAsync(address, NullLogger.Instance, token);

    /// <summary>Connects, and returns both ends.</summary>
    public (Wire Client, Wire Server) Connect()
    {
        lock (_connecting)
        {
            Wire client = ConnectAsync(Address).Bounded().GetAwaiter().GetResult();
            return (client, Take());
        }
    }

    /// <summary>Waits for the next client, which somebody else connects.</summary>
    public Wire Take()
    {
        Assert.That(_accepted.TryTake(out Wire? server, Timeouts.Wait), "A client has come.");
        return server!;
    }

    public void Dispose()
    {
        Door.EndListening();
        Thread.Remove(Door.Listening);
        Thread.Dispose();
        Door.Remove();
        _place.Dispose();
        _accepted.Dispose();
    }

    private void Accept()
    {
        while (Door.TryAccept(Door.Listening, out _, out _) is { } wire)
        {
            _accepted.Add(wire);
        }
    }
}
