using RpcOverShm.Servers;

namespace RpcOverShm.Tests.Servers;

/// <summary>The limits that options without a value mean.</summary>
public class LimitCheckTests
{
    private const long SmallMemory = 400L << 20;

    [Test]
    public void Of_MessagesWithoutALimit_IsNeverStricterThanWithANumber(
        [Values(64L << 20, SmallMemory, 64L << 30)] long memoryBytes, [Values(0, 4 << 20, int.MaxValue)] int number)
    {
        ServerLimits without = LimitChecks.Of(new ShmServerOptions { MaxReceiveMessageSize = null }, memoryBytes);
        ServerLimits with = LimitChecks.Of(new ShmServerOptions { MaxReceiveMessageSize = number }, memoryBytes);

        Assert.That(without.ConnectionBytes, Is.GreaterThanOrEqualTo(with.ConnectionBytes));
        Assert.That(without.Bytes, Is.GreaterThanOrEqualTo(with.Bytes));
    }

    [Test]
    public void Of_MessagesWithoutALimit_KeepsALimitForAllConnections()
    {
        ServerLimits small = LimitChecks.Of(new ShmServerOptions { MaxReceiveMessageSize = null }, SmallMemory);
        ServerLimits large = LimitChecks.Of(new ShmServerOptions { MaxReceiveMessageSize = null }, 64L << 30);

        Assert.That((small.Bytes, large.Bytes), Is.EqualTo((2L * int.MaxValue, 16L << 30)));
    }
}
