namespace RpcOverShm.Perf.Quick;

[TestFixture]
[Category("Quick")]
public sealed class LatencyHistogramTests
{
    private const double LargestError = 1 / 256.0;

    [Test]
    public void ValueAt_Nothing_IsZero()
    {
        var histogram = new LatencyHistogram();
        Assert.That(histogram.ValueAt(0.5), Is.Zero);
        Assert.That(histogram.Mean, Is.Zero);
    }

    [TestCase(0)]
    [TestCase(1)]
    [TestCase(255)]
    [TestCase(256)]
    [TestCase(511)]
    [TestCase(512)]
    [TestCase(513)]
    [TestCase(1023)]
    [TestCase(1024)]
    [TestCase(457_123)]
    [TestCase(60_000_000_000)]
    [TestCase((1L << 40) - 1)]
    public void ValueAt_OneValue_IsThatValue(long value)
    {
        var histogram = new LatencyHistogram();
        histogram.Record(value);
        Assert.That(histogram.ValueAt(0.5), Is.EqualTo((double)value).Within(value * LargestError));
    }

    [Test]
    public void Record_EveryPower_StaysInOrderAndWithinItsError()
    {
        double last = -1;
        for (long value = 1; value < 1L << 39; value += 1 + (value / 300))
        {
            var histogram = new LatencyHistogram();
            histogram.Record(value);
            double found = histogram.ValueAt(1);
            Assert.That(found, Is.EqualTo((double)value).Within(value * LargestError));
            Assert.That(found, Is.GreaterThanOrEqualTo(last), "Larger values are never found to be smaller.");
            last = found;
        }
    }

    [TestCase(-5, 0)]
    [TestCase(long.MaxValue / 4, long.MaxValue / 4)]
    public void Record_OutsideOfItsRange_IsCounted(long value, long maxExpected)
    {
        var histogram = new LatencyHistogram();
        histogram.Record(value);
        Assert.That(histogram.Count, Is.EqualTo(1));
        Assert.That(histogram.Max, Is.EqualTo(maxExpected));
    }

    [Test]
    public void ValueAt_RandomValues_AgreesWithSorting()
    {
        const int seed = 4711;
        var random = new Random(seed);
        var histogram = new LatencyHistogram();
        long[] values = new long[20_000];
        for (int i = 0; i < values.Length; i++)
        {
            values[i] = (long)Math.Exp(random.NextDouble() * 20);
            histogram.Record(values[i]);
        }

        Array.Sort(values);
        foreach (double share in new[] { 0.01, 0.5, 0.9, 0.99, 0.999, 1 })
        {
            long exact = values[(int)Math.Ceiling(share * values.Length) - 1];
            double found = histogram.ValueAt(share);
            Assert.That(found, Is.EqualTo((double)exact).Within(exact * LargestError), $"{share}, seed {seed}");
        }

        Assert.That(histogram.Mean, Is.EqualTo(values.Average()).Within(1e-6));
        Assert.That(histogram.Max, Is.EqualTo(values[^1]));
    }

    [Test]
    public void Record_ManyTimes_IsAsEachOnItsOwn()
    {
        var together = new LatencyHistogram();
        together.Record(1000, 3);
        var single = new LatencyHistogram();
        single.Record(1000);
        single.Record(1000);
        single.Record(1000);
        Assert.That(Written(together), Is.EqualTo(Written(single)));
    }

    [Test]
    public void Merge_TwoHistograms_IsBothInOne()
    {
        var one = new LatencyHistogram();
        one.Record(10);
        one.Record(1_000_000);
        var other = new LatencyHistogram();
        other.Record(20);
        one.Merge(other);
        Assert.That(one.Count, Is.EqualTo(3));
        Assert.That(one.Sum, Is.EqualTo(1_000_030));
        Assert.That(one.ValueAt(0.5), Is.EqualTo(20));
        Assert.That(one.Max, Is.EqualTo(1_000_000));
    }

    [Test]
    public void Read_WhatWriteWrote_IsTheSame()
    {
        var histogram = new LatencyHistogram();
        for (int i = 0; i < 1000; i++)
        {
            histogram.Record(i * i);
        }

        var copy = LatencyHistogram.Read(new LineReader(Written(histogram)));
        Assert.That(copy.Count, Is.EqualTo(histogram.Count));
        Assert.That(copy.Mean, Is.EqualTo(histogram.Mean));
        Assert.That(copy.Max, Is.EqualTo(histogram.Max));
        Assert.That(copy.ValueAt(0.99), Is.EqualTo(histogram.ValueAt(0.99)));
    }

    [Test]
    public void Record_Always_AllocatesNothing()
    {
        var histogram = new LatencyHistogram();
        histogram.Record(1);
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < 1000; i++)
        {
            histogram.Record(i * 1000);
        }

        Assert.That(GC.GetAllocatedBytesForCurrentThread() - before, Is.Zero);
    }

    // The line starts with its first number instead of a verb.
    private static string Written(LatencyHistogram histogram)
    {
        var line = new LineWriter("");
        histogram.Write(line);
        return line.ToString()[1..];
    }
}
