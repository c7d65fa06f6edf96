using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Protocol;

public class ProtocolVersionTests
{
    [TestCase(1, 1, 1)]
    [TestCase(0, 1, 1)]
    [TestCase(0, 9, 1)]
    [TestCase(1, 65535, 1)]
    [TestCase(0, 0, null)]
    [TestCase(2, 2, null)]
    [TestCase(2, 65535, null)]
    [TestCase(5, 2, null)]
    [TestCase(1, 0, null)]
    public void Negotiate_OfAnOffer_IsTheHighestCommonVersion(int lowest, int highest, int? expected)
    {
        Assert.That(ProtocolVersion.Negotiate((ushort)lowest, (ushort)highest), Is.EqualTo((ushort?)expected));
    }

    [Test]
    public void Negotiate_OfAnyOffer_IsSpokenByBoth([Range(0, 4)] int lowest, [Range(0, 4)] int highest)
    {
        int? version = ProtocolVersion.Negotiate((ushort)lowest, (ushort)highest);

        Assert.That(version, Is.Null.Or.InRange(lowest, highest));
        Assert.That(version, Is.Null.Or.InRange((int)ProtocolVersion.Lowest, (int)ProtocolVersion.Highest));
    }
}
