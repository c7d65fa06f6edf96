namespace RpcOverShm.Perf.Quick;

[TestFixture]
[Category("Quick")]
public sealed class RatioTests
{
    [TestCase(new[] { 3.0 }, 3.0)]
    [TestCase(new[] { 3.0, 1.0, 2.0 }, 2.0)]
    [TestCase(new[] { 4.0, 1.0, 2.0, 3.0 }, 2.5)]
    public void MedianOf_Values_IsTheMiddle(double[] values, double expected) =>
        Assert.That(Ratio.MedianOf(values), Is.EqualTo(expected));

    [Test]
    public void Of_SlowRounds_ComparesWithinTheRound()
    {
        // The machine became ten times slower after the second round; the arm takes half the time throughout.
        Ratio ratio = Ratio.Of([5, 5, 50, 50], [10, 10, 100, 100]);
        Assert.That(ratio, Is.EqualTo(new Ratio(0.5, 0.5, 0.5, Won: 4, Rounds: 4)));
    }

    [Test]
    public void Of_OneWildRound_KeepsTheMedianAndTheIntervalNarrow()
    {
        double[] baseline = [.. Enumerable.Repeat(10.0, 15)];
        double[] times = [.. Enumerable.Repeat(8.0, 14), 500];
        Ratio ratio = Ratio.Of(times, baseline);
        Assert.That(ratio.Median, Is.EqualTo(0.8));
        Assert.That(ratio.High, Is.EqualTo(0.8));
        Assert.That(ratio.Won, Is.EqualTo(14));
    }

    [Test]
    public void Of_NoisyRounds_HasTheMedianInItsInterval()
    {
        var random = new Random(7);
        double[] baseline = [.. Enumerable.Range(0, 15).Select(_ => 8 + (random.NextDouble() * 4))];
        double[] times = [.. Enumerable.Range(0, 15).Select(_ => 8 + (random.NextDouble() * 4))];
        Ratio ratio = Ratio.Of(times, baseline);
        Assert.That(ratio.Low, Is.LessThan(ratio.Median));
        Assert.That(ratio.High, Is.GreaterThan(ratio.Median));
        Assert.That(Ratio.Of(times, baseline), Is.EqualTo(ratio), "The same measurements have the same interval.");
    }

    [Test]
    public void Of_OtherNumbersOfRounds_IsRefused() =>
        Assert.That(() => Ratio.Of([1, 2], [1]), Throws.ArgumentException);
}
