namespace RpcOverShm.Tests.Rings;

/// <summary>
/// The store-then-look of both sides at the same moment, very often: in no round may both miss what the other has just
/// stored. A processor may hold a store back behind a later load, and without the full fences it does (in about one of
/// a hundred rounds here), while a test of whole messages meets the loss once in millions of sleeps.
/// </summary>
public class RingFenceTests
{
    private const int Rounds = 200_000;
    private const int Capacity = 4096;

    [Test]
    public void ArmAndPublish_AtTheSameMoment_NeverBothMiss()
    {
        using var ring = new RingPair(Capacity);
        var race = new TwoThreadRace(Rounds)
        {
            Prepare = () =>
            {
                ring.Reader.Disarm();
                while (ring.Reader.TryRead(out _, out _))
                {
                    ring.Reader.Release();
                }

                ring.Reader.PublishHead();
                Assert.That(ring.TryWrite([], isControl: true));
            },
            Left = ring.Writer.Publish,
            Right = () => !ring.Reader.Arm(),
        };

        race.Run();

        // Left: the writer saw the reader parked and rings. Right: the reader saw the record and stays awake.
        AssertNeverBothMissed(race);
    }

    [Test]
    public void ParkForSpaceAndPublishHead_AtTheSameMoment_NeverBothMiss()
    {
        using var ring = new RingPair(Capacity);
        var race = new TwoThreadRace(Rounds)
        {
            // One record in the ring, read and not given back: giving it back empties the ring, which always rings.
            Prepare = () =>
            {
                ring.Writer.UnparkForSpace();
                Assert.That(ring.Writer.ParkForSpace(), Is.Null.Or.EqualTo(ring.Head));
                ring.Writer.UnparkForSpace();
                ring.Write([], isControl: true);
                Assert.That(ring.Reader.TryRead(out _, out _));
                ring.Reader.Release();
            },
            Left = ring.Reader.PublishHead,
            Right = () => ring.Writer.ParkForSpace() is null,
        };

        race.Run();

        AssertNeverBothMissed(race);
    }

    private static void AssertNeverBothMissed(TwoThreadRace race)
    {
        TestContext.Out.WriteLine(race.ToString());
        Assert.That(race.NeitherSaw, Is.Zero, race.ToString());
    }
}
