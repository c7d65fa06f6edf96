using RpcOverShm.Rings;
using RpcOverShm.Topics;

namespace RpcOverShm.Tests.Topics;

/// <summary>
/// A hostile publisher writes arbitrary values. The reader stays within its bounds, or throws the one exception that
/// ends the link.
/// </summary>
public class TopicHostileTests
{
    private const int Capacity = 1024;

    private static readonly long[] s_evil =
        [-1, -16, long.MinValue, long.MaxValue, long.MaxValue & ~15L, 1, 8, 17, 1L << 40];

    private readonly TopicPair _topic = new(Capacity);

    [TearDown]
    public void Unmap() => _topic.Dispose();

    [TestCaseSource(nameof(s_evil))]
    public void Tail_ThatIsImpossible_IsCorruption(long tail)
    {
        _topic.Publish(8);
        _topic.Own.Tail = tail;

        AssertCorruption(() => _topic.Reader.TryRead(out _));
    }

    [TestCaseSource(nameof(s_evil))]
    public void OldestRecord_ThatIsImpossible_IsCorruption(long oldest)
    {
        _topic.Publish(8);
        _topic.Own.OldestRecord = oldest;

        AssertCorruption(() => _topic.Reader.TryRead(out _));
        AssertCorruption(() => _topic.NewReader(default).SkipToNewest());
    }

    [TestCase(-16)]
    [TestCase(8)]
    [TestCase(long.MinValue)]
    public void NewestRecord_ThatIsImpossible_IsCorruption(long newest)
    {
        _topic.Publish(8);
        _topic.Own.NewestRecord = newest;

        AssertCorruption(() => _topic.Reader.SkipToNewest());
    }

    [TestCase(-16, 0)]
    [TestCase(8, 0)]
    [TestCase(0, -1)]
    public void Start_ThatIsImpossible_IsCorruption(long position, long sequence) =>
        AssertCorruption(() => _topic.NewReader(new TopicStart(position, sequence)));

    [TestCase(4, 0)] // kind
    [TestCase(4, 3)]
    [TestCase(4, 0xFF)] // padding at the start of the ring
    [TestCase(5, 1)] // flags
    [TestCase(6, 1)] // head
    [TestCase(8, 1)] // number
    [TestCase(15, 0x80)] // a negative one
    [TestCase(1, 1)] // beyond the largest payload
    [TestCase(3, 0xFF)]
    [TestCase(0, 17)] // beyond the tail
    public void Header_WithAnImpossibleByte_IsCorruption(int offset, int value)
    {
        _topic.Publish(8);
        _topic.Data[offset] = (byte)value;

        AssertCorruption(() => _topic.Reader.TryRead(out _));
    }

    [Test]
    public void TryRead_OfPaddingThatDoesNotEndAtTheEnd_IsCorruption()
    {
        _topic.Publish(8, 8);
        TopicPair.Read(_topic.Reader, out _);
        _topic.Data[32 + 4] = RecordHeader.PaddingKind;

        AssertCorruption(() => _topic.Reader.TryRead(out _));
    }

    [Test]
    public void TryRead_OfRandomBytes_StaysInsideOrIsCorruption()
    {
        var random = new Random(35);
        int read = 0;
        for (int round = 0; round < 20_000; round++)
        {
            random.NextBytes(_topic.Data);
            for (int at = 0; at < Capacity; at += 16)
            {
                _topic.Data[at] = (byte)random.Next(40);
                _topic.Data.Slice(at + 1, 15).Clear();
                _topic.Data[at + 4] = (byte)(random.Next(8) == 0 ? 0xFF : 1);
            }

            _topic.Own.Tail = Capacity;
            read += ReadAll(_topic.NewReader(default));
        }

        Assert.That(read, Is.GreaterThan(1000));
    }

    private static int ReadAll(TopicReader reader)
    {
        int read = 0;
        try
        {
            while (reader.TryRead(out TopicRecord record) == TopicState.Message)
            {
                Assert.That(record.Length, Is.InRange(0, TopicLimits.MaxPayloadBytes(Capacity)));
                Assert.That(reader.TryCopy(new byte[record.Length]));
                read++;
            }
        }
        catch (RingCorruptedException)
        {
            // The documented refusal.
        }

        return read;
    }

    private static void AssertCorruption(Action action) =>
        Assert.That(action, Throws.TypeOf<RingCorruptedException>());
}
