using System.Runtime.InteropServices;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Systems;

/// <summary>The two ends of a wire, both in this process, through a door that all pairs share.</summary>
internal class WirePair : IDisposable
{
    private static readonly Lazy<TestDoor> s_door = new(OpenDoor);

    public WirePair()
        : this(s_door.Value.Connect())
    {
        // A handshake is over before doorbells come.
        Send(ClientWire, ServerWire);
        Send(ServerWire, ClientWire);
    }

    protected WirePair((Wire Client, Wire Server) ends) => (ClientWire, ServerWire) = ends;

    /// <summary>The end that connected.</summary>
    public Wire ClientWire { get; }

    /// <summary>The end that was accepted.</summary>
    public Wire ServerWire { get; }

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

    /// <summary>Closes both ends. No poll may watch them any more.</summary>
    public virtual void Dispose()
    {
        ClientWire.Dispose();
        ServerWire.Dispose();
    }

    private static void Send(Wire from, Wire to)
    {
        from.Send([0], []);
        Receive(to, 1);
    }

    private static TestDoor OpenDoor()
    {
        var door = new TestDoor();
        AppDomain.CurrentDomain.ProcessExit += (_, _) => door.Dispose();
        return door;
    }
}
