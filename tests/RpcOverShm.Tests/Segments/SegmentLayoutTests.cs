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

    [Test]
    public void SizeBytes_OfCapacity_AddsOnePageOfWords()
    {
        Assert.That(SegmentLayout.SizeBytes(1 << 20), Is.EqualTo((1 << 20) + 4096));
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
