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

    [TestCase(0)]
    [TestCase(1)]
    [TestCase(1_000_000)]
    [TestCase(16 << 20)]
    [TestCase(LoadOrder.SameAsRequest)]
    public void ReplyBytes_OfARequest_AreWhatItAsksFor(int replyBytes)
    {
        byte[] request = new byte[100];
        PayloadPattern.Fill(request, EchoNumber.Make(caller: 63, replyBytes, sequence: int.MaxValue));
        Assert.That(EchoNumber.ReplyBytes(request), Is.EqualTo(replyBytes));
    }

    [Test]
    public void ReplyBytes_OfARequestWithoutANumber_AreTheRequest() =>
        Assert.That(EchoNumber.ReplyBytes(new byte[7]), Is.EqualTo(LoadOrder.SameAsRequest));

    [TestCase(0)]
    [TestCase(40)]
    [TestCase(1_000_000)]
    public void WorkMicroseconds_OfARequest_AreWhatItAsksFor(int microseconds)
    {
        byte[] request = new byte[100];
        long number = EchoNumber.Make(caller: 63, LoadOrder.SameAsRequest, sequence: int.MaxValue, microseconds);
        PayloadPattern.Fill(request, number);
        Assert.That(EchoNumber.WorkMicroseconds(request), Is.EqualTo(microseconds));
        Assert.That(EchoNumber.ReplyBytes(request), Is.EqualTo(LoadOrder.SameAsRequest));
        Assert.That(PayloadPattern.CountWrong(request), Is.Zero);
    }

    [Test]
    public void Make_WorkAndAnotherAnswer_IsRefused() =>
        Assert.That(() => EchoNumber.Make(caller: 0, replyBytes: 1, sequence: 0, 40), Throws.ArgumentException);

    [Test]
    public void FillReply_OfAnotherSize_IsWhatTheClientExpects()
    {
        long number = EchoNumber.Make(caller: 2, replyBytes: 1000, sequence: 5);
        byte[] request = new byte[100];
        byte[] reply = new byte[1000];
        PayloadPattern.Fill(request, number);
        EchoNumber.FillReply(reply, request);
        Assert.That(PayloadPattern.CountWrong(reply, number, 1000), Is.Zero);
        Assert.That(PayloadPattern.CountWrong(reply, number + 1, 1000), Is.Positive);
    }

    [Test]
    public void Make_TwoCallers_NeverMeet()
    {
        long one = EchoNumber.Make(caller: 1, LoadOrder.SameAsRequest, sequence: 7);
        long other = EchoNumber.Make(caller: 2, LoadOrder.SameAsRequest, sequence: 7);
        Assert.That(one, Is.Not.EqualTo(other));
    }

    [Test]
    public void At_TheWholeMix_HasEverySizeBothWays()
    {
        ExchangeSize[] calls = [.. Enumerable.Range(0, ExchangeMix.Length).Select(index => ExchangeMix.At(index))];
        Assert.That(calls, Has.Length.EqualTo(3130));
        Assert.That(calls.Distinct().Count(), Is.EqualTo(10), "five sizes, each both ways");
        Assert.That(calls, Does.Contain(new ExchangeSize(100_000, 1_000_000)));
        Assert.That(calls, Does.Contain(new ExchangeSize(1_000_000, 100_000)));
    }
}
