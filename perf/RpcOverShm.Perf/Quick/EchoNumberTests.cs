namespace RpcOverShm.Perf.Quick;

[TestFixture]
[Category("Quick")]
public sealed class EchoNumberTests
{
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
