using RpcOverShm.Rings;
using RpcOverShm.Segments;

namespace RpcOverShm.Tests.Rings;

/// <summary>The rules of the parked words and of wake-ups, one by one.</summary>
public class RingParkingTests
{
    private const int Capacity = 1024;

    private readonly RingPair _ring = new(Capacity);

    [TearDown]
    public void Unmap() => _ring.Dispose();

    [Test]
    public void Publish_WhileThePeerRuns_NeedsNoRing()
    {
        Assert.That(_ring.Write([1]), Is.False);
    }

    [Test]
    public void Arm_WithNothingToRead_StoresThePositionAndAllowsSleep()
    {
        _ring.AdvanceTo(48);

        Assert.That(_ring.Reader.Arm(), Is.True);
        Assert.That(_ring.ParkedForData, Is.EqualTo(48 | 1));
        Assert.That(_ring.Reader.IsArmed);
        Assert.That(_ring.Reader.IsArmedAt(48));
        Assert.That(_ring.Reader.IsArmedAt(32), Is.False);
    }

    [Test]
    public void Arm_WithDataThere_ForbidsSleep()
    {
        _ring.Write([1]);

        Assert.That(_ring.Reader.Arm(), Is.False);
    }

    [Test]
    public void Arm_WithAnUnpublishedRecord_AllowsSleepAndIsRungAtThePublication()
    {
        _ring.TryWrite([1]);

        Assert.That(_ring.Reader.Arm(), Is.True);
        Assert.That(_ring.Writer.Publish(), Is.True);
    }

    [Test]
    public void Publish_PastAnArmedReader_RingsOncePerParkedValue()
    {
        _ring.Reader.Arm();

        Assert.That(_ring.Write([1]), Is.True);
        Assert.That(_ring.Write([2]), Is.False, "It was rung for this value.");
    }

    [Test]
    public void Publish_AfterTheReaderArmedAtAnotherPosition_RingsAgain()
    {
        _ring.Reader.Arm();
        _ring.Write([1]);
        _ring.Reader.Disarm();
        _ring.Read();
        _ring.Reader.Arm();

        Assert.That(_ring.Write([2]), Is.True);
    }

    [Test]
    public void Publish_OfNothingNew_DoesNotRingAReaderThatHasReadAll()
    {
        _ring.AdvanceTo(16);
        _ring.Reader.Arm();

        Assert.That(_ring.Writer.Publish(), Is.False);
    }

    [Test]
    public void Publish_AfterDisarm_DoesNotRing()
    {
        _ring.Reader.Arm();
        _ring.Reader.Disarm();

        Assert.That(_ring.ParkedForData, Is.Zero);
        Assert.That(_ring.Reader.IsArmed, Is.False);
        Assert.That(_ring.Write([1]), Is.False);
    }

    [Test]
    public void Publish_NeverWritesTheParkedWord()
    {
        _ring.Reader.Arm();
        long parked = _ring.ParkedForData;

        _ring.Write([1]);

        Assert.That(_ring.ParkedForData, Is.EqualTo(parked), "Only the reader writes it.");
    }

    [Test]
    public void Disarm_OfAReaderThatIsNotArmed_WritesNothing()
    {
        // A disarm that cleared the word would lose this value: the reader must rely on its own state.
        _ring.ParkedForData = 33;

        _ring.Reader.Disarm();

        Assert.That(_ring.ParkedForData, Is.EqualTo(33));
    }

    [Test]
    public void Release_OfSmallRecords_PublishesTheHeadOnlyAfterAnEighth()
    {
        for (int i = 0; i < 16; i++)
        {
            _ring.Write(new byte[16]);
        }

        var published = new List<long>();
        for (int i = 0; i < 16; i++)
        {
            _ring.Read();
            published.Add(_ring.Head);
        }

        Assert.That(published[2], Is.Zero, "96 of 128 bytes");
        Assert.That(published[3], Is.EqualTo(128));
        Assert.That(published.Distinct(), Is.EqualTo((long[])[0, 128, 256, 384, 512]));
    }

    [Test]
    public void PublishHead_AtAnyTime_MakesItExact()
    {
        _ring.Write([1]);
        _ring.Read();
        Assert.That(_ring.Head, Is.Zero);

        _ring.Reader.PublishHead();

        Assert.That(_ring.Head, Is.EqualTo(32));
    }

    [Test]
    public void ParkForSpace_WithNothingRead_StoresTheHeadAndAllowsSleep()
    {
        Fill();

        Assert.That(_ring.Writer.ParkForSpace(), Is.EqualTo(0L));
        Assert.That(_ring.ParkedForSpace, Is.EqualTo(1));
    }

    [Test]
    public void ParkForSpace_AfterThePeerHasRead_ForbidsSleep()
    {
        Fill();
        _ring.Read();
        _ring.Reader.PublishHead();

        Assert.That(_ring.Writer.ParkForSpace(), Is.Null);
    }

    [Test]
    public void Release_WhileTheWriterIsParked_PublishesEachHeadAtOnce()
    {
        Fill();
        _ring.Writer.ParkForSpace();

        _ring.Read();

        Assert.That(_ring.Head, Is.EqualTo(32));
    }

    [Test]
    public void Release_WhileTheWriterIsParked_RingsOnceThreeEighthsAreFree()
    {
        Fill();
        _ring.Writer.ParkForSpace();

        int records = 0;
        bool mustWake = false;
        while (!mustWake)
        {
            _ring.Read(out mustWake);
            records++;
        }

        long free = Capacity - (_ring.Tail - _ring.Head);
        Assert.That(free, Is.EqualTo(RingLimits.SpaceWakeBytes(Capacity)));
        Assert.That(records, Is.GreaterThan(1), "Not for each record.");
    }

    [Test]
    public void Release_AfterARingForSpace_DoesNotRingAgainForTheSameValue()
    {
        Fill();
        _ring.Writer.ParkForSpace();
        int rings = 0;
        while (_ring.Reader.HasData)
        {
            _ring.Read(out bool mustWake);
            rings += mustWake ? 1 : 0;
        }

        Assert.That(rings, Is.EqualTo(1));
    }

    [Test]
    public void Release_OfTheLastRecord_RingsAWriterThoughLittleWasFreed()
    {
        // An empty ring is always enough to wake: there may never be more to read.
        _ring.Write([1]);
        _ring.Writer.ParkForSpace();

        _ring.Read(out bool mustWake);

        Assert.That(mustWake);
    }

    [Test]
    public void PublishHead_AfterTheWriterParkedAnew_RingsAgain()
    {
        Fill();
        _ring.Writer.ParkForSpace();
        Drain();
        _ring.Writer.UnparkForSpace();
        Fill();
        Assert.That(_ring.Writer.ParkForSpace(), Is.Not.Null);

        Assert.That(Drain(), Is.EqualTo(1));
    }

    [Test]
    public void PublishHead_WithoutProgress_DoesNotRing()
    {
        Fill();
        _ring.Writer.ParkForSpace();

        Assert.That(_ring.Reader.PublishHead(), Is.False);
    }

    [Test]
    public void UnparkForSpace_Afterwards_TheHeadIsLazyAgain()
    {
        Fill();
        _ring.Writer.ParkForSpace();
        _ring.Writer.UnparkForSpace();

        _ring.Read(out bool mustWake);

        Assert.That(mustWake, Is.False);
        Assert.That(_ring.ParkedForSpace, Is.Zero);
        Assert.That(_ring.Head, Is.Zero);
    }

    [Test]
    public void WokenWriter_AfterARingForSpace_FindsRoomForTheLargestRecordAtEveryPlace()
    {
        for (int start = 0; start < Capacity; start += 16)
        {
            using var ring = new RingPair(Capacity);
            ring.AdvanceTo(start);
            while (ring.TryWrite(new byte[16]))
            {
                // As full as data may make it.
            }

            ring.Writer.Publish();
            long? parked = ring.Writer.ParkForSpace();
            Assert.That(parked, Is.Not.Null);
            bool mustWake = false;
            while (!mustWake)
            {
                ring.Read(out mustWake);
            }

            Assert.That(ring.Writer.TryClaim(ring.MaxPayloadBytes, isControl: false, out _), $"at {start}");
        }
    }

    [Test]
    public void Position_Beyond32Bits_ParksRingsAndComparesTheLowHalf()
    {
        const long Far = 1L << 32;
        using var ring = new RingPair(64 << 10);
        ring.AdvanceTo(Far - 32);

        Assert.That(ring.Reader.Arm());
        Assert.That(ring.ParkedForData, Is.EqualTo((Far - 32) | 1));
        Assert.That(ring.TailAsSeen.Read(), Is.EqualTo(SharedWord.LowHalf(ring.Reader.Position)));
        Assert.That(ring.Write(new byte[16]), Is.True);
        Assert.That(ring.TailAsSeen.Read(), Is.Zero, "The low half has wrapped.");
        ring.Reader.Disarm();
        Assert.That(ring.Read(), Has.Length.EqualTo(16));
        Assert.That(ring.Reader.Position, Is.EqualTo(Far));

        while (ring.TryWrite(new byte[ring.MaxPayloadBytes]))
        {
            // Full, across the wrap.
        }

        ring.Writer.Publish();
        long? seen = ring.Writer.ParkForSpace();
        Assert.That(seen, Is.Not.Null);
        Assert.That(ring.HeadAsSeen.Read(), Is.EqualTo(SharedWord.LowHalf(seen!.Value)));
        bool mustWake = false;
        while (!mustWake)
        {
            ring.Read(out mustWake);
        }

        Assert.That(ring.Head, Is.GreaterThan(Far));
    }

    // Until the ring has no room for data.
    private void Fill()
    {
        while (_ring.TryWrite(new byte[16]))
        {
            // On and on.
        }

        _ring.Writer.Publish();
    }

    private int Drain()
    {
        int rings = 0;
        while (_ring.Reader.HasData)
        {
            _ring.Read(out bool mustWake);
            rings += mustWake ? 1 : 0;
        }

        rings += _ring.Reader.PublishHead() ? 1 : 0;
        return rings;
    }
}
