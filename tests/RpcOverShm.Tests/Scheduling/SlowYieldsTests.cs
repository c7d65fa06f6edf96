using System.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Scheduling;

public class SlowYieldsTests
{
    private static readonly long s_millisecond = Stopwatch.Frequency / 1000;

    [TestCase(3, 1, 3, true, Description = "Two slow ones in a row.")]
    [TestCase(3, 6, 3, false, Description = "The second comes later.")]
    [TestCase(0, 1, 3, false, Description = "The first is quick.")]
    [TestCase(3, 1, 0, false, Description = "The second is quick.")]
    public void Yields_ThatAreSlowTwiceInARow_AreNotAskedForForAWhile(
        int first, int between, int second, bool isExpected)
    {
        var yields = new SlowYields();
        long now = Stopwatch.GetTimestamp();

        yields.Note(now, now += first * s_millisecond);
        bool afterOne = yields.AreExpected(now);
        now += between * s_millisecond;
        yields.Note(now, now += second * s_millisecond);

        Assert.That(afterOne, Is.False);
        Assert.That(yields.AreExpected(now), Is.EqualTo(isExpected));
        Assert.That(yields.AreExpected(now + (9 * s_millisecond)), Is.EqualTo(isExpected));
        Assert.That(yields.AreExpected(now + (11 * s_millisecond)), Is.False);
    }

    [Test]
    public void Yields_AsLongAsOtherCallersWork_AreNotSlow()
    {
        var yields = new SlowYields();
        long now = Stopwatch.GetTimestamp();

        for (int i = 0; i < 10; i++)
        {
            yields.Note(now, now += s_millisecond / 2);
        }

        Assert.That(yields.AreExpected(now), Is.False);
    }
}
