using RpcOverShm.Servers;

namespace RpcOverShm.Tests.Servers;

/// <summary>The limits that options without a value mean.</summary>
public class LimitDefaultTests
{
    private const long SmallMemory = 400L << 20;

    [Test]
    public void Limits_OfMessagesWithoutALimit_IsNeverStricterThanWithANumber(
        [Values(64L << 20, SmallMemory, 64L << 30)] long memoryBytes, [Values(0, 4 << 20, int.MaxValue)] int number)
    {
        ServerLimits without = Limits(null, memoryBytes);
        ServerLimits with = Limits(number, memoryBytes);

        Assert.That(without.MaxBytesPerConnection, Is.GreaterThanOrEqualTo(with.MaxBytesPerConnection));
        Assert.That(without.MaxBytes, Is.GreaterThanOrEqualTo(with.MaxBytes));
    }

    [Test]
    public void Limits_OfMessagesWithoutALimit_KeepsALimitForAllConnections()
    {
        ServerLimits small = Limits(null, SmallMemory);
        ServerLimits large = Limits(null, 64L << 30);

        Assert.That((small.MaxBytes, large.MaxBytes), Is.EqualTo((2L * int.MaxValue, 16L << 30)));
    }

    private static ServerLimits Limits(int? maxReceiveMessageSize, long memoryBytes) =>
        new ShmServerLimits().ToServerLimits("Limits", maxReceiveMessageSize, memoryBytes);
}
