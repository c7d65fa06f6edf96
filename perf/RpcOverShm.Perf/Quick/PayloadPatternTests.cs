namespace RpcOverShm.Perf.Quick;

[TestFixture]
[Category("Quick")]
public sealed class PayloadPatternTests
{
    [TestCase(0)]
    [TestCase(1)]
    [TestCase(7)]
    [TestCase(8)]
    [TestCase(9)]
    [TestCase(100)]
    [TestCase(4096)]
    [TestCase(4097)]
    [TestCase(1 << 20)]
    public void CountWrong_WhatFillMade_IsZero(int size)
    {
        byte[] payload = new byte[size];
        PayloadPattern.Fill(payload, 123_456);
        Assert.That(PayloadPattern.CountWrong(payload, 123_456, size), Is.Zero);
        Assert.That(PayloadPattern.CountWrong(payload), Is.Zero);
    }

    [Test]
    public void CountWrong_AnyByteChanged_IsFound([Values(8, 100)] int size)
    {
        byte[] payload = new byte[size];
        for (int i = 0; i < size; i++)
        {
            PayloadPattern.Fill(payload, 5);
            payload[i] ^= 0x40;
            Assert.That(PayloadPattern.CountWrong(payload, 5, size), Is.Positive, $"byte {i}");
        }
    }

    [Test]
    public void CountWrong_BytesOfAnotherMessage_AreFound()
    {
        byte[] payload = new byte[100];
        byte[] other = new byte[100];
        PayloadPattern.Fill(payload, 20);
        PayloadPattern.Fill(other, 21);
        other.AsSpan(50).CopyTo(payload.AsSpan(50));
        Assert.That(PayloadPattern.CountWrong(payload), Is.GreaterThan(40), "Neighbours have few bytes in common.");
    }

    // 16 messages of 64 KiB fill the default ring once.
    [TestCase(16)]
    [TestCase(15)]
    public void CountWrong_BytesOfTheLapBefore_AreFound(int lap)
    {
        byte[] stale = new byte[64 << 10];
        PayloadPattern.Fill(stale, 1000 - lap);
        PayloadPattern.SetNumber(stale, 1000);
        Assert.That(PayloadPattern.CountWrong(stale, 1000, stale.Length), Is.Positive);
    }

    [Test]
    public void CountWrong_AnotherNumberOrLength_IsFound()
    {
        byte[] payload = new byte[100];
        PayloadPattern.Fill(payload, 5);
        long other = 5 + PayloadPattern.Variants;
        Assert.That(PayloadPattern.CountWrong(payload, other, 100), Is.EqualTo(PayloadPattern.NumberBytes));
        Assert.That(PayloadPattern.CountWrong(payload, 5, 101), Is.Positive);
        Assert.That(PayloadPattern.CountWrong([], 5, 100), Is.EqualTo(100));
    }

    [Test]
    public void SetNumber_OfTheSameVariant_MakesThatMessage()
    {
        byte[] payload = new byte[100];
        PayloadPattern.Fill(payload, 3);
        PayloadPattern.SetNumber(payload, 3 + (9 * PayloadPattern.Variants));
        Assert.That(PayloadPattern.CountWrong(payload, 3 + (9 * PayloadPattern.Variants), 100), Is.Zero);
    }
}
