using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Windows;

/// <summary>A door of a new name with its thread, and pairs of wires that came through it.</summary>
[SupportedOSPlatform("windows")]
internal sealed class PipePair : IDisposable
{
    private readonly BlockingCollection<Wire> _accepted = [];

    public PipePair()
    {
        Address = NewAddress();
        Door = HostSystem.Current.Listen(Address, AccessPolicy.OwnUserOnly, NullLogger.Instance);
        DoorThread = new PollThread(isDoor: true);
        DoorThread.Add(Door.Listening, _ => TakeAll());
        (Client, Server) = Connect();
    }

    public RendezvousAddress Address { get; }

    public Door Door { get; }

    public PollThread DoorThread { get; }

    public Wire Client { get; }

    public Wire Server { get; }

    public static RendezvousAddress NewAddress() => RendezvousAddress.Parse($"shm://test-{Guid.NewGuid():N}", null);

    public static Task<Wire> ConnectAsync(RendezvousAddress address, CancellationToken token = default) =>
        HostSystem.Current.ConnectAsync(address, NullLogger.Instance, token);

    public (Wire Client, Wire Server) Connect()
    {
        Wire client = ConnectAsync(Address).Bounded().GetAwaiter().GetResult();
        return (client, Take());
    }

    /// <summary>Returns the wire of the client that has come next.</summary>
    public Wire Take()
    {
        Assert.That(_accepted.TryTake(out Wire? server, Timeouts.Wait));
        return server!;
    }

    /// <summary>Receives just so many bytes, waiting for them as a client does.</summary>
    public static byte[] Receive(Wire wire, int count, List<SafeHandle>? handles = null)
    {
        byte[] bytes = new byte[count];
        long start = Environment.TickCount64;
        for (int received = 0; received < count;)
        {
            int now = wire.Receive(bytes.AsSpan(received), handles ?? []);
            Assert.That(now, Is.Not.Zero, "The wire has ended.");
            received += Math.Max(0, now);
            Assert.That(Environment.TickCount64 - start, Is.LessThan(Timeouts.Wait.TotalMilliseconds));
            if (now < 0)
            {
                wire.IsReadable(2);
            }
        }

        return bytes;
    }

    public void Dispose()
    {
        Door.EndListening();
        DoorThread.Remove(Door.Listening);
        DoorThread.Dispose();
        Door.Remove();
        Client.Dispose();
        Server.Dispose();
    }

    private void TakeAll()
    {
        while (Door.TryAccept(Door.Listening, out _, out _) is { } wire)
        {
            _accepted.Add(wire);
        }
    }
}
