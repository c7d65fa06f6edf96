using RpcOverShm.Diagnostics;

namespace RpcOverShm.Tests.Diagnostics;

public class LatencyCountsTests
{
    [TestCase(0, 0)]
    [TestCase(255, 0)]
    [TestCase(256, 0)]
    [TestCase(319, 0)]
    [TestCase(320, 1)]
    [TestCase(511, 3)]
    [TestCase(512, 4)]
    [TestCase(1L << 31, 92)]
    [TestCase(1L << 32, 95)]
    [TestCase(long.MaxValue, 95)]
    public void CellOf_OfALatency_IsTheCellThatHasIt(long nanoseconds, int cell) =>
        Assert.That(LatencyCounts.CellOf(nanoseconds), Is.EqualTo(cell));

    [Test]
    public void MiddleOf_OfEachCell_IsInThatCellAndGrows()
    {
        for (int cell = 0; cell < LatencyCounts.CellCount; cell++)
        {
            double middle = LatencyCounts.MiddleOf(cell);

            Assert.That(LatencyCounts.CellOf((long)middle), Is.EqualTo(cell));
            Assert.That(middle, Is.GreaterThan(cell == 0 ? 255 : LatencyCounts.MiddleOf(cell - 1)));
        }
    }

    [Test]
    public void CopyTo_AfterSomeLatencies_HasTheirCounts()
    {
        var counts = new LatencyCounts();
        counts.Add(TimeSpan.FromMicroseconds(10));
        counts.Add(TimeSpan.FromMicroseconds(10));
        counts.Add(TimeSpan.FromSeconds(60));

        long[] cells = new long[LatencyCounts.CellCount];
        counts.CopyTo(cells);

        Assert.That(cells[LatencyCounts.CellOf(10_000)], Is.EqualTo(2));
        Assert.That(cells[^1], Is.EqualTo(1));
        Assert.That(cells.Sum(), Is.EqualTo(3));
    }
}
