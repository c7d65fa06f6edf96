using RpcOverShm.Segments;
using RpcOverShm.Topics;

namespace RpcOverShm.Tests.Topics;

public class TopicParkingTests
{
    private SharedSegment _client = null!;

    [SetUp]
    public void Map() => _client = SharedSegment.Create(64 << 10, Guid.NewGuid());

    [TearDown]
    public void Unmap() => _client.Dispose();

    [Test]
    public void MustRing_OfAClientThatSleeps_IsTrueOnceForEachTime()
    {
        var parking = new TopicParking(_client);
        var doorbell = new TopicDoorbell(_client);
        Assert.That(doorbell.MustRing(), Is.False);
        for (int i = 0; i < 3; i++)
        {
            parking.Arm();
            Assert.That((doorbell.MustRing(), doorbell.MustRing()), Is.EqualTo((true, false)));
            parking.Disarm();
            Assert.That(doorbell.MustRing(), Is.False);
        }
    }

    [TestCase(-1)]
    [TestCase(long.MinValue)]
    [TestCase(long.MaxValue)]
    [TestCase(2)]
    public void MustRing_OfAWordThatLies_IsTrueAtMostOnce(long word)
    {
        var doorbell = new TopicDoorbell(_client);
        _client.TopicParking = word;

        Assert.That(doorbell.MustRing(), Is.EqualTo((word & 1) != 0));
        Assert.That(doorbell.MustRing(), Is.False);
    }
}
