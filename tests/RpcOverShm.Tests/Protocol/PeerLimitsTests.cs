using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Protocol;

public class PeerLimitsTests
{
    [TestCase(64u << 10, 0u, 0u, null)]
    [TestCase(1u << 30, 65536u, 16u << 20, null)]
    [TestCase(256u << 10, 100u, 64u << 10, null)]
    [TestCase((64u << 10) - 1, 0u, 0u, "call window")]
    [TestCase((1u << 30) + 1, 0u, 0u, "call window")]
    [TestCase(0u, 0u, 0u, "call window")]
    [TestCase(uint.MaxValue, 0u, 0u, "call window")]
    [TestCase(64u << 10, 65537u, 0u, "calls at a time")]
    [TestCase(64u << 10, uint.MaxValue, 0u, "calls at a time")]
    [TestCase(64u << 10, 0u, (16u << 20) + 1, "metadata")]
    [TestCase(64u << 10, 0u, uint.MaxValue, "metadata")]
    public void Check_OfAnnouncedLimits_SaysWhatIsWrong(uint window, uint calls, uint metadata, string? problem)
    {
        var limits = new PeerLimits(1 << 20, window, calls, metadata);

        Assert.That(limits.Check(), problem is null ? Is.Null : Does.Contain(problem));
    }

    [Test]
    public void Decode_OfWhatWasEncoded_IsTheSame()
    {
        var limits = new PeerLimits(0x0102_0304_0506_0708, 0x1112_1314, 0x2122_2324, 0x3132_3334)
        {
            MaxRunning = 0x4142_4344,
        };
        byte[] bytes = new byte[PeerLimits.SizeBytes];

        limits.Encode(bytes);

        Assert.That(PeerLimits.Decode(bytes), Is.EqualTo(limits));
    }
}
