using RpcOverShm.Links;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Links;

public class PendingClientsTests
{
    private const int Places = 4;

    private static readonly TimeSpan s_timeout = TimeSpan.FromSeconds(8);
    private static readonly TimeSpan s_soon = PendingClients.LongestGrace - TimeSpan.FromMilliseconds(1);

    private readonly PendingClients _pending = new(Places, s_timeout);
    private readonly List<WirePair> _wires = [];

    [TearDown]
    public void Close() => _wires.ForEach(wires => wires.Dispose());

    [Test]
    public void TakeOut_WhileAPlaceIsFree_IsNobody()
    {
        Add(Places - 1, process: 1);

        Assert.That(_pending.UntilRoom(TimeSpan.Zero), Is.EqualTo(TimeSpan.Zero));
        Assert.That(TakeOut(TimeSpan.FromHours(1)), Is.Null);
    }

    [Test]
    public void TakeOut_WithAllPlacesTaken_IsTheOldestSilentOneAfterItsGrace()
    {
        PendingClient oldest = Add(process: 1);
        Add(Places - 1, process: 1);

        Assert.That(_pending.UntilRoom(s_soon), Is.EqualTo(PendingClients.LongestGrace - s_soon));
        Assert.That(TakeOut(s_soon), Is.Null);
        Assert.That(_pending.UntilRoom(PendingClients.LongestGrace), Is.EqualTo(TimeSpan.Zero));
        Assert.That(TakeOut(PendingClients.LongestGrace), Is.SameAs(oldest));
        Assert.That(_pending.Count, Is.EqualTo(Places - 1));
    }

    [Test]
    public void TakeOut_WithSeveralProcesses_IsOfTheOneWithTheMostPlaces()
    {
        Add(process: 1);
        PendingClient first = Add(process: 2);
        Add(process: 2);
        Add(process: 3);

        Assert.That(TakeOut(PendingClients.LongestGrace), Is.SameAs(first));
    }

    [Test]
    public void TakeOut_WithOneThatHasSentAByte_IsASilentOne()
    {
        Add(process: 1, hasByte: true);
        PendingClient silent = Add(process: 1);
        Add(Places - 2, process: 1, hasByte: true);

        Assert.That(TakeOut(PendingClients.LongestGrace), Is.SameAs(silent));
    }

    [Test]
    public void TakeOut_WithoutASilentOne_IsTheOldest()
    {
        PendingClient oldest = Add(process: 1, hasByte: true);
        Add(Places - 1, process: 1, hasByte: true);

        Assert.That(TakeOut(PendingClients.LongestGrace), Is.SameAs(oldest));
    }

    [Test]
    public void UntilRoom_WithSeveralProcesses_IsThatOfTheOneWithTheMostPlaces()
    {
        TimeSpan later = TimeSpan.FromMilliseconds(5);
        Add(process: 1);
        Add(process: 2, arrived: later);
        Add(process: 2, arrived: later);
        Add(process: 3);

        Assert.That(_pending.UntilRoom(TimeSpan.Zero), Is.EqualTo(PendingClients.LongestGrace + later));
    }

    [Test]
    public void Grace_AsNewcomersTakePlaces_ShrinksToNothing_UntilTheQueueIsEmpty()
    {
        Add(Places, process: 1);
        var shares = new List<double>();
        for (int i = 0; i <= Places; i++)
        {
            shares.Add(_pending.UntilRoom(TimeSpan.Zero) / PendingClients.LongestGrace);
            Assert.That(TakeOut(PendingClients.LongestGrace), Is.Not.Null);
            Add(process: 1);
        }

        Assert.That(shares, Is.EqualTo((double[])[1, 0.75, 0.5, 0.25, 0]));
        _pending.OnQueueEmpty();
        Assert.That(_pending.UntilRoom(TimeSpan.Zero), Is.EqualTo(PendingClients.LongestGrace));
    }

    [Test]
    public void Remove_OfOneThatHasLeft_ChangesNothing()
    {
        PendingClient gone = Add(process: 1);
        _pending.Remove(gone);
        _pending.Remove(gone);
        PendingClient first = Add(process: 1);
        Add(process: 1);
        Add(process: 2);
        Add(process: 3);

        Assert.That(TakeOut(PendingClients.LongestGrace), Is.SameAs(first));
    }

    [TestCase(0, 8.0)]
    [TestCase(2, 4.5)]
    [TestCase(4, 1.0)]
    public void Timeout_AsPlacesFill_ShrinksToAnEighth(int taken, double seconds)
    {
        Add(taken, process: 1);

        Assert.That(_pending.Timeout, Is.EqualTo(TimeSpan.FromSeconds(seconds)));
    }

    [Test]
    public void FindOverdue_BeforeAndAtTheTimeout_IsNobodyAndTheOldest()
    {
        Assert.That(_pending.UntilOverdue(TimeSpan.Zero), Is.Null);
        PendingClient oldest = Add(process: 1);
        Add(process: 2);
        TimeSpan end = _pending.Timeout;

        Assert.That(_pending.FindOverdue(end - TimeSpan.FromTicks(1)), Is.Null);
        Assert.That(_pending.UntilOverdue(end - TimeSpan.FromTicks(1)), Is.EqualTo(TimeSpan.FromTicks(1)));
        Assert.That(_pending.UntilOverdue(TimeSpan.FromHours(1)), Is.EqualTo(TimeSpan.Zero));
        Assert.That(_pending.FindOverdue(end), Is.SameAs(oldest));
    }

    private PendingClient? TakeOut(TimeSpan now)
    {
        PendingClient? loser = _pending.FindLoser(now);
        Assert.That(loser is null || _pending.TakeOut(loser));
        return loser;
    }

    private void Add(int count, int process, bool hasByte = false)
    {
        for (int i = 0; i < count; i++)
        {
            Add(process, hasByte);
        }
    }

    private PendingClient Add(int process, bool hasByte = false, TimeSpan arrived = default)
    {
        var wires = new WirePair();
        _wires.Add(wires);
        var client = new PendingClient(wires.ServerWire, new PeerIdentity(process, 0, 0), arrived, _ => { });
        if (hasByte)
        {
            wires.ClientWire.Send("R"u8, []);
            Assert.That(client.Receiver.TryReceive(), Is.False);
        }

        _pending.Add(client);
        return client;
    }
}
