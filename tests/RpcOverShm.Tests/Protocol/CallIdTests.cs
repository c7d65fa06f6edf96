using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Protocol;

public class CallIdTests
{
    [TestCase(0, 1u, false, 0x0002_0000u)]
    [TestCase(0, 1u, true, 0x0002_0001u)]
    [TestCase(1, 1u, false, 0x0002_0002u)]
    [TestCase(65535, 1u, false, 0x0003_FFFEu)]
    [TestCase(65535, 32767u, true, 0xFFFF_FFFFu)]
    [TestCase(0, 32767u, false, 0xFFFE_0000u)]
    public void Value_OfItsParts_IsAsOnTheWire(int slot, uint generation, bool isFromAcceptor, uint value)
    {
        var id = new CallId(slot, generation, isFromAcceptor);

        Assert.That(id.Value, Is.EqualTo(value));
        Assert.That(
            (id.Slot, id.Generation, id.IsFromAcceptor, id.IsNone),
            Is.EqualTo((slot, generation, isFromAcceptor, false)));
    }

    [Test]
    public void None_OfAll_IsZero()
    {
        Assert.That(CallId.None.Value, Is.Zero);
        Assert.That(CallId.None.IsNone);
    }

    [TestCase(0u, 1u)]
    [TestCase(1u, 2u)]
    [TestCase(32766u, 32767u)]
    [TestCase(32767u, 1u)]
    public void NextGeneration_OfAGeneration_SkipsZero(uint generation, uint next)
    {
        Assert.That(CallId.NextGeneration(generation), Is.EqualTo(next));
    }
}
