using RpcOverShm.Connections;

namespace RpcOverShm.Tests.Connections;

public class DrainCounterTests
{
    private readonly DrainCounter _counter = new();

    [Test]
    public void Changes_AfterACallThatWasWithdrawn_AreOthers()
    {
        long before = _counter.Changes;

        _counter.Add();
        _counter.Withdraw();

        Assert.That(_counter.Changes, Is.GreaterThan(before));
        Assert.That((_counter.Count, _counter.Total), Is.EqualTo((0, 0)));
    }

    [Test]
    public void Changes_AfterARemovalAndAWithdrawal_AreOthers()
    {
        _counter.Add();
        _counter.Add();
        long before = _counter.Changes;

        _counter.Remove();
        _counter.Withdraw();

        Assert.That(_counter.Changes, Is.GreaterThan(before));
        Assert.That((_counter.Count, _counter.Total), Is.EqualTo((0, 1)));
    }

    [Test]
    public void WhenEmptyAsync_OfACallThatIsWithdrawn_Completes()
    {
        _counter.Add();
        Task empty = _counter.WhenEmptyAsync();
        Assert.That(empty.IsCompleted, Is.False);

        _counter.Withdraw();

        Assert.That(empty.IsCompleted);
    }
}
