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
    public void TryWrite_WithASubscriberThatWaits_StopsBeforeIt()
    {
        int written = 0;
        while (_topic.TryWrite(new byte[16], 0))
        {
            written++;
        }

        _topic.Writer.Publish();

        Assert.That(written * 32, Is.EqualTo(TopicLimits.RoomBytes(Capacity)));
        Assert.That(_topic.Writer.Tail, Is.EqualTo(written * 32));
        Assert.That(_topic.Writer.NeededHead(16), Is.EqualTo(32));
        Assert.That(_topic.TryWrite(new byte[16], 16), Is.False);
        Assert.That(_topic.TryWrite(new byte[16], 32));
        for (int number = 0; number < written; number++)
        {
            TopicPair.Read(_topic.Reader, out _);
        }
    }

    [Test]
    public void TryRead_AfterALap_SkipsAndCountsWhatIsLost()
    {
        _topic.Publish([.. Enumerable.Repeat(100, 100)]);
        Assert.That(_topic.Reader.TryRead(out _), Is.EqualTo(TopicState.Lapped));

        _topic.Reader.SkipToNewest();

        byte[] copy = TopicPair.Read(_topic.Reader, out TopicRecord record);
        Assert.That(record.Lost, Is.EqualTo(record.Sequence));
        Assert.That(copy, Is.All.EqualTo((byte)record.Sequence));
        Assert.That(record.Sequence, Is.EqualTo(99));
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
}
