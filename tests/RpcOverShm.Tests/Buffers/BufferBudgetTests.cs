using RpcOverShm.Buffers;

namespace RpcOverShm.Tests.Buffers;

/// <summary>The count of the bytes that a peer makes this process keep: at, below and above its limit.</summary>
internal sealed class BufferBudgetTests
{
    private const long MiB = 1 << 20;

    private readonly BufferBudget _server;
    private readonly BufferBudget _budget;

    public BufferBudgetTests()
    {
        _server = new BufferBudget("whole", 10 * MiB);
        _budget = new BufferBudget("part", 8 * MiB, _server);
    }

    [Test]
    public void TryTake_UpToTheLimit_CountsAndNothingBeyond()
    {
        BufferBudget?[] taken = [_budget.Take((8 * MiB) - 1), _budget.Take(1), _budget.Take(1)];

        Assert.That(taken, Is.EqualTo((BufferBudget?[])[null, null, _budget]));
        Assert.That((_budget.UsedBytes, _server.UsedBytes), Is.EqualTo((8 * MiB, 8 * MiB)));
        _budget.Give(8 * MiB);
        Assert.That((_budget.UsedBytes, _server.UsedBytes), Is.EqualTo((0L, 0L)));
    }

    [Test]
    public void TryTake_BeyondTheWhole_CountsNothing()
    {
        var other = new BufferBudget("other", 8 * MiB, _server);
        other.Take(8 * MiB);

        Assert.That(_budget.Take((2 * MiB) + 1), Is.SameAs(_server));
        Assert.That((_budget.UsedBytes, _server.UsedBytes), Is.EqualTo((0L, 8 * MiB)));
        other.Give(8 * MiB);
    }

    [Test]
    public void IsFullOfAnswers_AboveHalfTheLimit_UntilEnoughHaveGone()
    {
        int sunk = 0;
        _budget.OnResponsesDrained = () => sunk++;
        _budget.TakeUnsent(4 * MiB);
        bool atHalf = _budget.IsSendQueueFull;
        _budget.TakeUnsent(1);
        _budget.TakeUnsent(1);
        bool above = _budget.IsSendQueueFull;

        _budget.GiveUnsent(1);
        int sunkAbove = sunk;
        _budget.GiveUnsent(1);

        Assert.That((atHalf, above, sunkAbove, sunk), Is.EqualTo((false, true, 0, 1)));
        _budget.GiveUnsent(4 * MiB);
        Assert.That((_budget.UsedBytes, _budget.UnsentBytes), Is.EqualTo((0L, 0L)));
    }

    [Test]
    public void IsFullOfAnswers_WhileOthersFillTheWhole_AboveTheShare()
    {
        var other = new BufferBudget("other", 8 * MiB, _server);
        other.TakeUnsent(6 * MiB);
        _budget.TakeUnsent(BufferBudget.UnsentShareBytes);
        bool atShare = _budget.IsSendQueueFull;
        _budget.TakeUnsent(1);

        Assert.That((atShare, _budget.IsSendQueueFull), Is.EqualTo((false, true)));
        other.GiveUnsent(6 * MiB);
        _budget.GiveUnsent(BufferBudget.UnsentShareBytes + 1);
    }

    [TestCase(true)]
    [TestCase(false)]
    public void End_OfAPartThatBeginsNoCalls_KeepsNothingOfIt(bool isHeldBefore)
    {
        int sunk = 0;
        var other = new BufferBudget("other", 8 * MiB, _server);
        other.TakeUnsent(6 * MiB);
        _budget.TakeUnsent(BufferBudget.UnsentShareBytes + 1);
        _budget.OnResponsesDrained = () => sunk++;
        bool isHeld = isHeldBefore && _budget.IsSendQueueFull;
        _budget.End();
        isHeld |= _budget.IsSendQueueFull;

        other.GiveUnsent(6 * MiB);

        Assert.That((isHeld, sunk), Is.EqualTo((true, 0)));
        _budget.GiveUnsent(BufferBudget.UnsentShareBytes + 1);
    }

    [Test]
    public void Charge_OfSmallChanges_GoesInSteps()
    {
        var charge = new BufferCharge(_budget);
        charge.Grow(1);
        long one = _budget.UsedBytes;
        charge.Grow(4096);
        long step = _budget.UsedBytes;
        charge.Grow(10_000);
        long three = _budget.UsedBytes;
        charge.Shrink(0);
        long kept = _budget.UsedBytes;
        charge.Release();

        Assert.That((one, step, three, kept, _budget.UsedBytes), Is.EqualTo((4096L, 4096L, 12_288L, 4096L, 0L)));
    }

    [Test]
    public void Charge_BeyondTheLimit_SaysSoAndKeepsWhatItHas()
    {
        var charge = new BufferCharge(_budget);
        BufferBudget? first = charge.Grow(8 * MiB);

        BufferBudget? second = charge.Grow((8 * MiB) + 1);

        Assert.That((first, second), Is.EqualTo(((BufferBudget?)null, (BufferBudget?)_budget)));
        Assert.That(_budget.UsedBytes, Is.EqualTo(8 * MiB));
        charge.Release();
        Assert.That(_budget.UsedBytes, Is.Zero);
    }

    [Test]
    public void Charge_WithoutABudget_CountsNothing()
    {
        var charge = new BufferCharge(null);

        Assert.That(charge.Grow(long.MaxValue), Is.Null);
        charge.Shrink(0);
        charge.Release();
    }

    [Test]
    public void PartThatTheWholeHolds_IsToldWhenTheWholeHasSunk()
    {
        int sunk = 0;
        _budget.OnResponsesDrained = () => sunk++;
        var other = new BufferBudget("other", 8 * MiB, _server);
        other.Take(4 * MiB);
        _budget.TakeUnsent(BufferBudget.UnsentShareBytes + 1);
        bool isHeld = _budget.IsSendQueueFull;
        other.Take(2);

        other.Give(2);
        (int Sunk, bool IsHeld) above = (sunk, _budget.IsSendQueueFull);
        other.Give(1);
        (int Sunk, bool IsHeld) below = (sunk, _budget.IsSendQueueFull);
        other.Give((4 * MiB) - 1);

        Assert.That((isHeld, above, below), Is.EqualTo((true, (0, true), (1, false))));
        Assert.That(sunk, Is.EqualTo(1));
    }
}
