using RpcOverShm.Segments;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Segments;

namespace RpcOverShm.Tests.Systems;

public unsafe class SharedWordTests
{
    [TestCase(0L, 0u)]
    [TestCase(16L, 16u)]
    [TestCase(0x1_0000_0000L, 0u)]
    [TestCase(0x7FFF_FFFF_FFFF_FFF0L, 0xFFFF_FFF0u)]
    public void LowHalf_OfPosition_IsWhatTheKernelCompares(long position, uint low)
    {
        Assert.That(SharedWord.LowHalf(position), Is.EqualTo(low));
    }

    [Test]
    public void Read_OfWordInASegment_IsItsLowHalf()
    {
        using var segment = new MappedSegment(64 << 10);
        SharedMemoryOrder.WriteFenced(ref segment.Own.Tail, 0x1234_5678_9ABC_DEF0);

        Assert.That(new SharedWord(ref segment.View.Tail).Read(), Is.EqualTo(0x9ABC_DEF0));
    }

    [Test]
    public void Address_OfWord_IsTheWordsOwn()
    {
        using var segment = new MappedSegment(64 << 10);

        var word = new SharedWord(ref segment.View.Head);

        Assert.That((nint)word.Address, Is.EqualTo((nint)(segment.View.Data - SegmentLayout.HeaderSizeBytes + 384)));
    }
}
