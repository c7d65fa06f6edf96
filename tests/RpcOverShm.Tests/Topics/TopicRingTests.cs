using RpcOverShm.Rings;
using RpcOverShm.Topics;

namespace RpcOverShm.Tests.Topics;

public class TopicRingTests
{
    private const int Capacity = 4096;

    private readonly TopicPair _topic = new(Capacity);

    [TearDown]
    public void Unmap() => _topic.Dispose();

    [Test]
    public void TryRead_OfEverySizeThroughManyLaps_HasEachMessageOnceAndInOrder()
    {
        int most = _topic.Writer.MaxPayloadBytes;
        Assert.That(_topic.Reader.TryRead(out _), Is.EqualTo(TopicState.Empty));
        for (int number = 0; number < 3000; number++)
        {
            int length = number * 37 % (most + 1);
            _topic.Publish(length);

            byte[] copy = TopicPair.Read(_topic.Reader, out TopicRecord record);

            Assert.That((record.Sequence, record.Lost, copy.Length), Is.EqualTo(((long)number, 0L, length)));
            Assert.That(copy, Is.All.EqualTo((byte)number));
        }
    }

    [Test]
    public void Publish_OfABatch_ShowsItsRecordsTogether()
    {
        Assert.That(_topic.TryWrite([1]) && _topic.TryWrite([2]));
        Assert.That(_topic.Reader.HasData, Is.False);

        _topic.Writer.Publish();

        Assert.That(TopicPair.Read(_topic.Reader, out _), Is.EqualTo(new byte[] { 1 }));
        Assert.That(TopicPair.Read(_topic.Reader, out _), Is.EqualTo(new byte[] { 2 }));
    }

    [Test]
    public void TryWrite_WithASubscriberThatWaits_StopsBeforeItAndLeavesRoomForTheEnd()
    {
        int written = 0;
        while (_topic.TryWrite(new byte[16], 0))
        {
            written++;
        }

        _topic.Writer.WriteEnd(14, new string('é', Capacity));

        Assert.That(written * 32, Is.InRange(Capacity / 2, TopicLimits.RoomBytes(Capacity)));
        for (int number = 0; number < written; number++)
        {
            TopicPair.Read(_topic.Reader, out _);
        }

        Assert.That(_topic.Reader.TryRead(out TopicRecord end), Is.EqualTo(TopicState.End));
        byte[] copy = new byte[end.Length];
        Assert.That(_topic.Reader.TryCopy(copy));
        Assert.That(TopicEnd.Read(copy).StatusCode, Is.EqualTo(14));
        Assert.That(TopicEnd.Read(copy).Text, Does.Match("^é+$"), "Cut between characters.");
        Assert.That((end.Sequence, _topic.Reader.HasData), Is.EqualTo(((long)written, false)));
        Assert.That(_topic.Reader.TryRead(out _), Is.EqualTo(TopicState.Empty));
    }

    [Test]
    public void TryRead_AfterALap_SkipsAndCountsWhatIsLost([Values] bool toNewest)
    {
        _topic.Publish([.. Enumerable.Repeat(100, 100)]);
        Assert.That(_topic.Reader.TryRead(out _), Is.EqualTo(TopicState.Lapped));

        Skip(toNewest);

        byte[] copy = TopicPair.Read(_topic.Reader, out TopicRecord record);
        Assert.That(record.Lost, Is.EqualTo(record.Sequence));
        Assert.That(copy, Is.All.EqualTo((byte)record.Sequence));
        Assert.That(record.Sequence, toNewest ? Is.EqualTo(99) : Is.InRange(60, 80));
    }

    [Test]
    public void TryCopy_OfARecordThatIsOverwrittenMeanwhile_IsLapped()
    {
        _topic.Publish(500);
        Assert.That(_topic.Reader.TryRead(out TopicRecord record), Is.EqualTo(TopicState.Message));
        _topic.Publish([.. Enumerable.Repeat(500, 10)]);

        Assert.That(_topic.Reader.TryCopy(new byte[record.Length]), Is.False);
        Assert.That(_topic.Reader.TryRead(out _), Is.EqualTo(TopicState.Lapped));
    }

    [Test]
    public void Start_AtNowOrOldest_BeginsThere()
    {
        _topic.Publish([.. Enumerable.Repeat(100, 100)]);
        TopicReader now = _topic.NewReader(_topic.Writer.Now);
        TopicReader oldest = _topic.NewReader(_topic.Writer.Oldest);
        long first = _topic.Writer.Oldest.Sequence;
        TopicPair.Read(oldest, out TopicRecord old);
        Assert.That((old.Sequence, old.Lost), Is.EqualTo((first, 0L)));
        Assert.That(now.HasData, Is.False);

        _topic.Publish(1);

        TopicPair.Read(now, out TopicRecord newest);
        Assert.That((newest.Sequence, newest.Lost), Is.EqualTo((100L, 0L)));
    }

    [Test]
    public void PublishHead_AtTheVeryPositionThatThePublisherWaitsFor_WakesItOnce()
    {
        while (_topic.TryWrite(new byte[16], 0))
        {
            // Fill the room.
        }

        _topic.Writer.Publish();
        _topic.Writer.ParkForSpace(16, WakeMethods.Doorbell);
        long wanted = _topic.Own.ParkedForSpace & ~15L;

        Assert.That(_topic.Words.PublishHead(wanted - 16), Is.EqualTo(WakeMethods.None));
        Assert.That(_topic.Words.Release(wanted), Is.EqualTo(WakeMethods.Doorbell), "Not lazily.");
        Assert.That(_topic.Words.PublishHead(wanted + 16), Is.EqualTo(WakeMethods.None));
        Assert.That(_topic.TryWrite(new byte[16], _topic.View.ReadHead(_topic.Writer.Now.Position)));
        _topic.Writer.UnparkForSpace();
        Assert.That(_topic.Own.ParkedForSpace, Is.Zero);
    }

    [Test]
    public void WakeFor_AnArmedLink_WakesOnceForEachParking()
    {
        _topic.Words.Arm(0, WakeMethods.Doorbell);
        Assert.That(_topic.View.WakeFor(0), Is.EqualTo(WakeMethods.None));
        Assert.That(_topic.View.WakeFor(16), Is.EqualTo(WakeMethods.Doorbell));
        Assert.That(_topic.View.WakeFor(32), Is.EqualTo(WakeMethods.None));
        _topic.Words.Disarm();
        Assert.That(_topic.Page.ParkedForData, Is.Zero);
        _topic.Words.Arm(32, WakeMethods.Futex);
        Assert.That(_topic.View.WakeFor(48), Is.EqualTo(WakeMethods.Futex));
    }

    [Test]
    public void ReadHead_OfASubscriberThatHasJustBegun_IsAtLeastItsStart()
    {
        _topic.Publish(100, 100);
        _topic.View.StartAt(128);
        Assert.That(_topic.View.ReadHead(256), Is.EqualTo(128));
        _topic.Words.PublishHead(256);
        Assert.That(_topic.View.ReadHead(256), Is.EqualTo(256));
    }

    [Test]
    public void FirstFrom_StepsWithoutAStart_AreSkipped()
    {
        var starts = new RecordStarts(256);
        starts.Add(0, 0);
        starts.Add(200, 1);
        starts.Add(1200, 2);
        var next = new TopicStart(1500, 3);

        Assert.That(starts.FirstFrom(0, next), Is.EqualTo(new TopicStart(0, 0)));
        Assert.That(starts.FirstFrom(16, next), Is.EqualTo(new TopicStart(1200, 2)), "Only the first of a step.");
        Assert.That(starts.FirstFrom(1216, next), Is.EqualTo(next));
        starts.Add(4096, 4);
        Assert.That(
            starts.FirstFrom(16, new TopicStart(4200, 5)), Is.EqualTo(new TopicStart(1200, 2)), "Not of the next lap.");
    }

    private void Skip(bool toNewest)
    {
        if (toNewest)
        {
            _topic.Reader.SkipToNewest();
        }
        else
        {
            _topic.Reader.SkipToOldest();
        }
    }
}
