using RpcOverShm.Rings;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Rings;

/// <summary>The rules of the parked words and of wake-ups, one by one.</summary>
public class RingParkingTests
{
    private const int Capacity = 1024;

    private readonly RingPair _ring = new(Capacity);

    [TearDown]
    public void Unmap() => _ring.Dispose();

    [Test]
    public void Publish_WhileThePeerRuns_NeedsNoWake()
    {
        Assert.That(_ring.Write([1]), Is.EqualTo(WakeMethods.None));
    }

    [Test]
    public void Arm_WithNothingToRead_StoresThePositionAndAllowsSleep()
    {
        _ring.AdvanceTo(48);

        Assert.That(_ring.Reader.Arm(WakeMethods.Futex), Is.True);
        Assert.That(_ring.ParkedForData, Is.EqualTo(48 | 1));
        Assert.That(_ring.Reader.ArmedFor, Is.EqualTo(WakeMethods.Futex));
    }

    [Test]
    public void Arm_WithDataThere_ForbidsSleep()
    {
        _ring.Write([1]);

        Assert.That(_ring.Reader.Arm(WakeMethods.Futex), Is.False);
    }

    [Test]
    public void Arm_WithAnUnpublishedRecord_AllowsSleepAndIsWokenByThePublication()
    {
        _ring.TryWrite([1]);

        Assert.That(_ring.Reader.Arm(WakeMethods.Futex), Is.True);
        Assert.That(_ring.Writer.Publish(), Is.EqualTo(WakeMethods.Futex));
    }

    [Test]
    public void Publish_PastAnArmedReader_WakesOncePerParkedValueAndLeavesItAlone()
    {
        _ring.Reader.Arm(WakeMethods.Futex);
        long parked = _ring.ParkedForData;

        Assert.That(_ring.Write([1]), Is.EqualTo(WakeMethods.Futex));
        Assert.That(_ring.Write([2]), Is.EqualTo(WakeMethods.None), "It was woken for this value.");
        Assert.That(_ring.ParkedForData, Is.EqualTo(parked), "Only the reader writes it.");
    }

    [Test]
    public void Publish_AfterTheReaderArmedAtAnotherPosition_WakesAgain()
    {
        _ring.Reader.Arm(WakeMethods.Futex);
        _ring.Write([1]);
        _ring.Reader.Disarm();
        _ring.Read();
        _ring.Reader.Arm(WakeMethods.Futex);

        Assert.That(_ring.Write([2]), Is.EqualTo(WakeMethods.Futex));
    }

    [Test]
    public void Arm_ForTheSocket_StoresItsBitAndIsRungThere()
    {
        _ring.AdvanceTo(48);

        Assert.That(_ring.Reader.Arm(WakeMethods.Doorbell));
        Assert.That(_ring.ParkedForData, Is.EqualTo(48 | 2));
        Assert.That(_ring.Reader.ArmedFor, Is.EqualTo(WakeMethods.Doorbell));
        Assert.That(_ring.Write([1]), Is.EqualTo(WakeMethods.Doorbell));
    }

    [Test]
    public void Arm_ForTheSocketAfterTheFutexAtTheSamePosition_IsAnotherRequest()
    {
        _ring.TryWrite([1]);
        _ring.Reader.Arm(WakeMethods.Futex);
        Assert.That(_ring.Writer.Publish(), Is.EqualTo(WakeMethods.Futex));

        _ring.Reader.Arm(WakeMethods.Doorbell);

        Assert.That(_ring.Write([2]), Is.EqualTo(WakeMethods.Doorbell), "The loop was not rung for this value yet.");
        Assert.That(_ring.Write([3]), Is.EqualTo(WakeMethods.None));
    }

    // The other two of the four low bits are of a later version; they ask for nothing.
    [TestCase(1, 1)]
    [TestCase(2, 2)]
    [TestCase(3, 3)]
    [TestCase(4, 0)]
    [TestCase(8, 0)]
    [TestCase(14, 2)]
    public void ParkedWords_WithAnyLowBits_AskForTheKnownDoorbells(long bits, int expected)
    {
        _ring.ParkedForData = bits;
        _ring.ParkedForSpace = bits;

        Assert.That(_ring.Write([1]), Is.EqualTo((WakeMethods)expected));
        _ring.Read(out WakeMethods wakeMethods);
        Assert.That(wakeMethods, Is.EqualTo((WakeMethods)expected));
    }

    [Test]
    public void ParkForSpace_ForTheSocket_IsRungThere()
    {
        _ring.FillUp(16);

        Assert.That(_ring.Writer.ParkForSpace(WakeMethods.Doorbell), Is.EqualTo(0L));
        Assert.That(_ring.ParkedForSpace, Is.EqualTo(2));
        WakeMethods wakeMethods;
        do
        {
            _ring.Read(out wakeMethods);
        }
        while (wakeMethods == WakeMethods.None);

        Assert.That(wakeMethods, Is.EqualTo(WakeMethods.Doorbell));
    }

    // The event loop sees space by itself while it is awake, at the moment at which a reader would ring.
    [Test]
    public void HasSpaceHint_OfAFullRing_IsTrueWhenTheReaderWakes()
    {
        _ring.FillUp(16);
        _ring.Writer.ParkForSpace(WakeMethods.Doorbell);
        WakeMethods wakeMethods = WakeMethods.None;
        while (wakeMethods == WakeMethods.None)
        {
            Assert.That(_ring.Writer.HasSpaceHint, Is.False);
            _ring.Read(out wakeMethods);
        }

        Assert.That(_ring.Writer.HasSpaceHint);
    }

    [Test]
    public void Publish_OfNothingNew_DoesNotWakeAReaderThatHasReadAll()
    {
        _ring.AdvanceTo(16);
        _ring.Reader.Arm(WakeMethods.Futex);

        Assert.That(_ring.Writer.Publish(), Is.EqualTo(WakeMethods.None));
    }

    [Test]
    public void Publish_AfterDisarm_DoesNotWake()
    {
        _ring.Reader.Arm(WakeMethods.Futex);
        _ring.Reader.Disarm();

        Assert.That(_ring.ParkedForData, Is.Zero);
        Assert.That(_ring.Reader.ArmedFor, Is.EqualTo(WakeMethods.None));
        Assert.That(_ring.Write([1]), Is.EqualTo(WakeMethods.None));
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
        _ring.FillUp(16);

        Assert.That(_ring.Writer.ParkForSpace(WakeMethods.Futex), Is.EqualTo(0L));
        Assert.That(_ring.ParkedForSpace, Is.EqualTo(1));
    }

    [Test]
    public void ParkForSpace_AfterThePeerHasRead_ForbidsSleep()
    {
        _ring.FillUp(16);
        _ring.Read();
        _ring.Reader.PublishHead();

        Assert.That(_ring.Writer.ParkForSpace(WakeMethods.Futex), Is.Null);
    }

    [Test]
    public void Release_WhileTheWriterIsParked_PublishesEachHeadAtOnce()
    {
        _ring.FillUp(16);
        _ring.Writer.ParkForSpace(WakeMethods.Futex);

        _ring.Read();

        Assert.That(_ring.Head, Is.EqualTo(32));
    }

    [Test]
    public void Release_WhileTheWriterIsParked_WakesOnceThreeEighthsAreFree()
    {
        _ring.FillUp(16);
        _ring.Writer.ParkForSpace(WakeMethods.Futex);

        Assert.That(_ring.ReadUntilWake(), Is.GreaterThan(1), "Not for each record.");
        Assert.That(Capacity - (_ring.Tail - _ring.Head), Is.EqualTo(RingLimits.SpaceWakeBytes(Capacity)));
        Assert.That(_ring.Drain(), Is.Zero, "Not again for the same value.");
    }

    [Test]
    public void Release_OfTheLastRecord_WakesAWriterThoughLittleWasFreed()
    {
        // An empty ring is always enough to wake: there may never be more to read.
        _ring.Write([1]);
        _ring.Writer.ParkForSpace(WakeMethods.Futex);

        _ring.Read(out WakeMethods wakeMethods);

        Assert.That(wakeMethods, Is.EqualTo(WakeMethods.Futex));
    }

    [Test]
    public void Release_AfterTheWriterParkedAnew_WakesAgain()
    {
        _ring.FillUp(16);
        _ring.Writer.ParkForSpace(WakeMethods.Futex);
        _ring.Drain();
        _ring.Reader.PublishHead();
        _ring.Writer.UnparkForSpace();
        _ring.FillUp(16);
        Assert.That(_ring.Writer.ParkForSpace(WakeMethods.Futex), Is.Not.Null);

        Assert.That(_ring.Drain(), Is.EqualTo(1));
        Assert.That(_ring.Reader.PublishHead(), Is.EqualTo(WakeMethods.None));
    }

    [Test]
    public void PublishHead_WithoutProgress_DoesNotWake()
    {
        _ring.FillUp(16);
        _ring.Writer.ParkForSpace(WakeMethods.Futex);

        Assert.That(_ring.Reader.PublishHead(), Is.EqualTo(WakeMethods.None));
    }

    [Test]
    public void UnparkForSpace_Afterwards_TheHeadIsLazyAgain()
    {
        _ring.FillUp(16);
        _ring.Writer.ParkForSpace(WakeMethods.Futex);
        _ring.Writer.UnparkForSpace();

        _ring.Read(out WakeMethods wakeMethods);

        Assert.That(wakeMethods, Is.EqualTo(WakeMethods.None));
        Assert.That(_ring.ParkedForSpace, Is.Zero);
        Assert.That(_ring.Head, Is.Zero);
    }

    [Test]
    public void WokenWriter_AfterAWakeForSpace_FindsRoomForTheLargestRecordAtEveryPlace()
    {
        for (int start = 0; start < Capacity; start += 16)
        {
            using var ring = new RingPair(Capacity);
            ring.AdvanceTo(start);
            ring.FillUp(16);
            Assert.That(ring.Writer.ParkForSpace(WakeMethods.Futex), Is.Not.Null);
            ring.ReadUntilWake();

            Assert.That(ring.Writer.TryClaim(ring.MaxPayloadBytes, isControl: false, out _), $"at {start}");
        }
    }

    [Test]
    public void Position_Beyond32Bits_ParksWakesAndComparesTheLowHalf()
    {
        const long Far = 1L << 32;
        using var ring = new RingPair(64 << 10);
        ring.AdvanceTo(Far - 32);

        Assert.That(ring.Reader.Arm(WakeMethods.Futex));
        Assert.That(ring.ParkedForData, Is.EqualTo((Far - 32) | 1));
        Assert.That(ring.TailAsSeen.Read(), Is.EqualTo(SharedWord.LowHalf(ring.Reader.Position)));
        Assert.That(ring.Write(new byte[16]), Is.EqualTo(WakeMethods.Futex));
        Assert.That(ring.TailAsSeen.Read(), Is.Zero, "The low half has wrapped.");
        ring.Reader.Disarm();
        Assert.That(ring.Read(), Has.Length.EqualTo(16));
        Assert.That(ring.Reader.Position, Is.EqualTo(Far));

        ring.FillUp(ring.MaxPayloadBytes);
        long? seen = ring.Writer.ParkForSpace(WakeMethods.Futex);
        Assert.That(seen, Is.Not.Null);
        Assert.That(ring.HeadAsSeen.Read(), Is.EqualTo(SharedWord.LowHalf(seen!.Value)));
        ring.ReadUntilWake();
        Assert.That(ring.Head, Is.GreaterThan(Far));
    }
}
