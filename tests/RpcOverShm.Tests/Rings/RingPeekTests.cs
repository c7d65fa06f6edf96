using RpcOverShm.Rings;

namespace RpcOverShm.Tests.Rings;

/// <summary>The peek at the call of the next record.</summary>
public sealed class RingPeekTests : IDisposable
{
    private const int Capacity = 512;
    private const uint Mine = 7;

    private readonly RingPair _ring = new(Capacity);

    public void Dispose() => _ring.Dispose();

    [Test]
    public void IsNextOf_AtEveryPlace_IsTrueForTheStreamOfTheNextRecordOnly()
    {
        for (int i = 0; i < Capacity / RecordHeader.SizeBytes * 2; i++)
        {
            Assert.That(_ring.Reader.IsNextOf(Mine), Is.False, "Nothing has come.");
            WriteEmpty(Mine);
            WriteEmpty(Mine + 1);
            Assert.That(_ring.Reader.IsNextOf(Mine), Is.False, "Nothing was published.");

            _ring.Writer.Publish();
            Assert.That(_ring.Reader.IsNextOf(Mine));
            Assert.That(_ring.Reader.IsNextOf(Mine + 1), Is.False);
            _ring.Read();
            Assert.That(_ring.Reader.IsNextOf(Mine + 1));
            _ring.Read();
            _ring.Reader.PublishHead();
        }
    }

    [Test]
    public void IsNextOf_BeforePadding_IsFalse()
    {
        _ring.AdvanceTo(Capacity - RecordHeader.SizeBytes);
        Assert.That(_ring.Writer.TryClaim(RecordHeader.SizeBytes, isControl: false, out RingClaim claim));
        _ring.Writer.Commit(claim, new RecordHeader(RecordHeader.SizeBytes, 1, 0, 0, Mine, 0));
        _ring.Writer.Publish();

        Assert.That(_ring.Reader.IsNextOf(Mine), Is.False);
        Assert.That(_ring.Reader.TryRead(out RecordHeader header, out _));
        Assert.That(header.StreamId, Is.EqualTo(Mine));
    }

    private void WriteEmpty(uint stream)
    {
        Assert.That(_ring.Writer.TryClaim(0, isControl: false, out RingClaim claim));
        _ring.Writer.Commit(claim, new RecordHeader(0, 1, 0, 0, stream, 0));
    }
}
