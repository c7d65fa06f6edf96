using RpcOverShm.Links;
using RpcOverShm.Rings;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Links;

/// <summary>The memory of a link stays until the last of its users has left.</summary>
[LinuxOnly("Mappings are counted in /proc.")]
public class PeerLinkMemoryTests
{
    private readonly int _mappingsBefore = ProcessResources.CountSegmentMappings();
    private readonly LinkPair _links = new();

    private PeerLink Link => _links.Client;

    private int Mappings => ProcessResources.CountSegmentMappings() - _mappingsBefore;

    [TearDown]
    public void Close() => _links.Dispose();

    [Test]
    public void Leave_OfBothSides_FreesTheMemoryAndNotBefore()
    {
        Link.Close(new CloseReason(CloseKind.Local, "over"));
        Assert.That(Mappings, Is.EqualTo(4), "A closed link keeps its memory for those who use it.");

        Link.Leave();
        Assert.That(Mappings, Is.EqualTo(4));
        Link.Leave();
        Assert.That(Mappings, Is.EqualTo(2));

        _links.Server.Leave();
        _links.Server.Leave();
        Assert.That(Mappings, Is.Zero);
    }

    [Test]
    public void Leave_OfBothSidesWithAPasserBy_FreesTheMemoryWithTheLast()
    {
        Assert.That(Link.TryEnter());
        Link.Leave();
        Link.Leave();
        Assert.That(Mappings, Is.EqualTo(4));
        Assert.That(Link.TryEnter(), "Somebody still keeps it.");
        Link.Leave();

        Link.Leave();

        Assert.That(Mappings, Is.EqualTo(2));
        Assert.That(Link.TryEnter(), Is.False);
        Assert.That(Mappings, Is.EqualTo(2));
    }

    [Test]
    public void TryEnter_ByManyThreadsWhileTheSidesLeave_NeverOutlivesTheMemory()
    {
        int entered = 0;
        TestThread[] passersBy = [.. Enumerable.Range(0, 3).Select(_ => TestThread.Start("passer-by", () =>
        {
            while (Link.TryEnter())
            {
                // An access to freed memory would end the process.
                Link.WakePeerForData(WakeMethods.Futex | WakeMethods.Doorbell);
                Assert.That(SharedMemoryOrder.ReadAcquire(ref _links.ClientSegment.Own.Tail), Is.Zero);
                Interlocked.Increment(ref entered);
                Link.Leave();

                // If threads lose their processor inside, the passers-by may relieve each other for minutes.
                Thread.Yield();
            }
        }))];
        while (Volatile.Read(ref entered) < 1000)
        {
            Thread.Yield();
        }

        Link.Leave();
        Link.Leave();

        Array.ForEach(passersBy, passerBy => passerBy.Join());
        Assert.That(Mappings, Is.EqualTo(2));
    }
}
