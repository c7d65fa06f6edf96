using RpcOverShm.Segments;

namespace RpcOverShm.Tests.Segments;

public class TimeSliceTests
{
    [Test]
    public async Task ShortenOfThisThread_IsForThisThread_AndNotForThoseThatItStarts()
    {
        (ulong before, ulong after, ulong ofChild) = await Timeouts.OnThread(() =>
        {
            ulong before = Read();
            TimeSlice.ShortenOfThisThread();
            ulong after = Read();
            ulong ofChild = 0;
            var child = new Thread(() => ofChild = Read());
            child.Start();
            child.Join();
            return (before, after, ofChild);
        });

        // Kernels before 6.12 have no such request, and report none.
        Assert.That(after, Is.EqualTo(before == 0 ? 0 : TimeSlice.ShortNanoseconds));
        Assert.That(ofChild, Is.EqualTo(before).And.Not.EqualTo(TimeSlice.ShortNanoseconds));
    }

    [Test]
    public void TryRead_OfNoThread_IsFalse() => Assert.That(TimeSlice.TryRead(int.MaxValue, out _), Is.False);

    private static ulong Read()
    {
        Assert.That(TimeSlice.TryRead(0, out SchedulingAttributes attributes), Is.True);
        return attributes.Runtime;
    }
}
