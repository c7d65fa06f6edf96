using RpcOverShm.Rings;

namespace RpcOverShm.Tests.Rings;

/// <summary>
/// The store-then-load (StoreLoad) of both sides at the same moment, many times: in no round may both sides miss the
/// other's store. A processor may delay a store past a later load. Without the full fences it does so in about one of a
/// hundred rounds here, while a test of whole messages sees the loss once in millions of sleeps.
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
            Left = () => ring.Writer.Publish() == WakeMethods.Futex,
            Right = () => !ring.Reader.Arm(WakeMethods.Futex),
        };

        race.Run();

        // Left: the writer saw the reader parked and wakes it. Right: the reader saw the record and stays awake.
        AssertNeverBothMissed(race);
    }

    [Test]
    public void ParkForSpaceAndPublishHead_AtTheSameMoment_NeverBothMiss()
    {
        using var ring = new RingPair(Capacity);
        var race = new TwoThreadRace(Rounds)
        {
            // One record in the ring, read but not released. Its release empties the ring, which always wakes the
            // writer.
            Prepare = () =>
            {
                ring.Writer.UnparkForSpace();
                Assert.That(ring.Writer.ParkForSpace(WakeMethods.Futex), Is.Null.Or.EqualTo(ring.Head));
                ring.Writer.UnparkForSpace();
                ring.Write([], isControl: true);
                Assert.That(ring.Reader.TryRead(out _, out _));
                ring.Reader.Release();
            },
            Left = () => ring.Reader.PublishHead() == WakeMethods.Futex,
            Right = () => ring.Writer.ParkForSpace(WakeMethods.Futex) is null,
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
