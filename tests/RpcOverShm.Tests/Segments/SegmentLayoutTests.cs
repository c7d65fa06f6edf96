using RpcOverShm.Linux;
using RpcOverShm.Segments;

namespace RpcOverShm.Tests.Segments;

public class SegmentLayoutTests
{
    [TestCase(64L << 10, true)]
    [TestCase(1L << 20, true)]
    [TestCase(1L << 30, true)]
    [TestCase(32L << 10, false)]
    [TestCase(2L << 30, false)]
    [TestCase((64L << 10) + 16, false)]
    [TestCase(96L << 10, false)]
    [TestCase(0, false)]
    [TestCase(-(64L << 10), false)]
    [TestCase(long.MinValue, false)]
    [TestCase(long.MaxValue, false)]
    public void IsValidRingCapacity_OfSize_IsTrueForPowersOfTwoInRange(long bytes, bool isValid)
    {
        Assert.That(SegmentLayout.IsValidRingCapacity(bytes), Is.EqualTo(isValid));
    }

    [TestCase(4096, 4096, 0)]
    [TestCase(64 << 10, 64 << 10, 0)]
    [TestCase(128 << 10, 64 << 10, 128 << 10)]
    [TestCase(1 << 30, 64 << 10, 1 << 30)]
    public void Rings_OfCapacity_AreASmallOneAndOneOfThatSize(long capacity, long first, long second)
    {
        Assert.That(SegmentLayout.FirstRingCapacity(capacity), Is.EqualTo(first));
        Assert.That(SegmentLayout.SecondRingCapacity(capacity), Is.EqualTo(second));
        Assert.That(SegmentLayout.FirstSizeBytes(capacity), Is.EqualTo(first + 4096), "One page of words.");
        Assert.That(SegmentLayout.SizeBytes(capacity), Is.EqualTo(first + second + 4096));
    }

    [Test]
    public void SystemCallNumbers_OnThisProcessor_AreKnown()
    {
        Assert.That(SystemCallNumbers.AreKnown);
        Assert.That(
            (nint[])[SystemCallNumbers.Futex, SystemCallNumbers.MemfdCreate, SystemCallNumbers.Statx],
            Is.Unique.And.None.EqualTo((nint)(-1)));
    }
}
