using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>The raw server must not leak resources itself, or leak tests would report them.</summary>
[OneMode]
internal sealed class RawServerTests
{
    [TestCase(true)]
    [TestCase(false)]
    [LinuxOnly("Under Wine a client that gives up in its server's process leaves a handle of a section: unexplained.")]
    public async Task Accept_ClientThatHasGivenUp_TakesTheNextAndLeavesNothing(bool isAfterItsHello)
    {
        using var directory = new TestDirectory();
        using var server = new RawServer(directory.PlaceOf("raw"));
        await GiveUpAsync(directory.PlaceOf("raw"), isAfterItsHello);
        Task<RawPeer> accepting = server.AcceptAsync();

        using (RawPeer client = await RawPeer.ConnectAsync(directory.PlaceOf("raw")))
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

    private static async Task GiveUpAsync(string place, bool isAfterItsHello)
    {
        using Wire wire = await RawPeer.ConnectWireAsync(place);
        if (isAfterItsHello)
        {
            var id = Guid.NewGuid();
            using var segment = SharedSegment.Create(RawPeer.Generous.RingCapacity, id);
            using Signal signal = HostSystem.Current.CreateSignal();
            Handshake.Send(wire, RawHello.Of(HelloType.Client, RawPeer.Generous, id), segment, signal);
        }
    }
}
