using RpcOverShm.Clients;

namespace RpcOverShm.Tests.Clients;

/// <summary>The pauses between attempts to connect: gRPC's connection back-off.</summary>
public class ReconnectBackoffTests
{
    private const double Middle = 0.5;

    private static readonly ReconnectBackoff s_backoff = new(
        TimeSpan.FromMilliseconds(100), TimeSpan.FromMilliseconds(1000));

    [TestCase(1, 100)]
    [TestCase(2, 160)]
    [TestCase(3, 256)]
    [TestCase(5, 655.36)]
    [TestCase(6, 1000)]
    [TestCase(int.MaxValue, 1000)]
    public void After_ManyFailures_GrowsUpToTheLongest(int failures, double milliseconds) =>
        Assert.That(s_backoff.After(failures, Middle).TotalMilliseconds, Is.EqualTo(milliseconds).Within(0.01));

    [TestCase(0, 80)]
    [TestCase(Middle, 100)]
    [TestCase(0.999999, 120)]
    public void After_AnyChance_IsAFifthMoreOrLess(double random, double milliseconds) =>
        Assert.That(s_backoff.After(1, random).TotalMilliseconds, Is.EqualTo(milliseconds).Within(0.01));
}
