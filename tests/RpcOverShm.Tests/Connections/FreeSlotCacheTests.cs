using RpcOverShm.Connections;

namespace RpcOverShm.Tests.Connections;

/// <summary>Each given slot is taken once and in order, also between two threads.</summary>
public class FreeSlotCacheTests
{
    private const int Capacity = 64;

    [Test]
    public void TryTake_OfNone_IsFalse() => Assert.That(new FreeSlotCache().TryTake(out _), Is.False);

    [Test]
    public void TryGive_MoreThanThereIsRoomFor_IsFalseUntilOneIsTaken()
    {
        var slots = new FreeSlotCache();
        Assert.That(Enumerable.Range(0, Capacity).All(slots.TryGive), Is.True);
        Assert.That(slots.TryGive(Capacity), Is.False);
        Assert.That(slots.TryTake(out int first) && first == 0, Is.True);
        Assert.That(slots.TryGive(Capacity), Is.True);
    }

    [Test]
    public void TryTake_WhileAnotherThreadGives_TakesEachOnceInOrder()
    {
        const int Count = 1_000_000;
        var slots = new FreeSlotCache();
        var giver = new Thread(() =>
        {
            for (int slot = 0; slot < Count;)
            {
                slot += slots.TryGive(slot) ? 1 : 0;
            }
        });
        giver.Start();
        int wrong = 0;
        for (int expected = 0; expected < Count;)
        {
            if (slots.TryTake(out int slot))
            {
                wrong += slot == expected ? 0 : 1;
                expected++;
            }
        }

        giver.Join();
        Assert.That(wrong, Is.Zero);
    }
}
