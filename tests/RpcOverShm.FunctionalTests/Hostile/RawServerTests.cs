using System.Net.Sockets;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>The raw server must not leak resources itself, or leak tests would report them.</summary>
[OneMode]
[LinuxOnly("Its peer is played by hand over a Unix socket.")]
internal sealed class RawServerTests
{
    [TestCase(true)]
    [TestCase(false)]
    public async Task Accept_ClientThatHasGivenUp_TakesTheNextAndLeavesNothing(bool isAfterItsHello)
    {
        using var directory = new TestDirectory();
        using var server = new RawServer(directory.Combine("raw.sock"));
        await GiveUpAsync(directory.Combine("raw.sock"), isAfterItsHello);
        Task<RawPeer> accepting = server.AcceptAsync();

        using (RawPeer client = await RawPeer.ConnectAsync(directory.Combine("raw.sock")))
        using (await accepting.Bounded())
        {
            // Two mappings on each side; earlier tests have left nothing. The event loop that the handshakes waited for
            // may still be there.
            // Another thread closes what the first client has sent.
            await Timeouts.Eventually(() => ProcessFacts.OfSelf().MemoryFiles == 0);
            var facts = ProcessFacts.OfSelf();
            Assert.That(facts, Is.EqualTo(facts with { MemoryFiles = 0, Mappings = 4 }));
            Assert.That(facts.Threads, Is.LessThanOrEqualTo(1));
        }
    }

    private static async Task GiveUpAsync(string path, bool isAfterItsHello)
    {
        using Socket socket = await UnixSockets.ConnectAsync(path);
        if (isAfterItsHello)
        {
            var id = Guid.NewGuid();
            using var segment = SharedSegment.Create(RawPeer.Generous.RingCapacity, id);
            RawHandshake.Send(socket, RawHello.Of(HelloType.Client, RawPeer.Generous, id), segment);
        }
    }
}
