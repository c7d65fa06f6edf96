using RpcOverShm.Loans;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Loans;

/// <summary>The places of a data file: the first gap takes the next one, and none overlaps another.</summary>
public class LoanFileTests
{
    private const int Blocks = 16;

    private MappedMemory _memory = null!;
    private LoanFile _file = null!;

    [SetUp]
    public void Make()
    {
        const long Size = Blocks * LoanReference.BlockBytes;
        _memory = HostSystem.Current.CreateMemory(Size, Size);
        _file = new LoanFile(number: 3, _memory);
    }

    [TearDown]
    public void Unmap() => _memory.Dispose();

    [Test]
    public void TryTake_OfAGapThatWasFreed_TakesTheFirstThatIsLargeEnough()
    {
        LoanPlace[] places = [.. new[] { 1, 2, 4, 3, 6 }.Select(blocks => _file.TryTake(blocks)!)];
        bool isFull = _file.TryTake(1) is null;
        _file.Free(places[1]);
        _file.Free(places[3]);

        Assert.That(places.Select(place => place.Block), Is.EqualTo(new[] { 0, 1, 3, 7, 10 }));
        Assert.That(isFull);
        Assert.That(_file.TryTake(4), Is.Null);
        Assert.That(_file.TryTake(3)!.Block, Is.EqualTo(7));
        Assert.That(_file.TryTake(1)!.Block, Is.EqualTo(1));
        Assert.That(_file.TryTake(1)!.Block, Is.EqualTo(2));
        Assert.That(_file.TryTake(17), Is.Null);
    }

    [Test]
    public void Find_OfABlock_IsThePlaceThatBeginsThere()
    {
        LoanPlace place = _file.TryTake(2)!;

        Assert.That(_file.Find(0), Is.SameAs(place));
        Assert.That(_file.Find(1), Is.Null);
        Assert.That(_file.Find(Blocks), Is.Null);
        Assert.That(_file.Find(uint.MaxValue), Is.Null);
        Assert.That((place.Offset, place.SizeBytes), Is.EqualTo((0L, 2L * LoanReference.BlockBytes)));
    }

    [Test]
    public void TakeAndFree_AtRandom_AreThoseOfAMapOfBlocks()
    {
        Random random = TestSeed.NewRandom();
        bool[] map = new bool[Blocks];
        var taken = new List<LoanPlace>();
        for (int step = 0; step < 10_000; step++)
        {
            if (taken.Count > 0 && random.Next(2) == 0)
            {
                LoanPlace freed = taken[random.Next(taken.Count)];
                taken.Remove(freed);
                _file.Free(freed);
                Array.Fill(map, false, freed.Block, freed.Blocks);
                continue;
            }

            int blocks = random.Next(1, 6);
            int expected = Enumerable.Range(0, Blocks - blocks + 1)
                .Where(start => !map.AsSpan(start, blocks).Contains(true)).DefaultIfEmpty(-1).First();
            LoanPlace? place = _file.TryTake(blocks);
            Assert.That(place?.Block ?? -1, Is.EqualTo(expected));
            if (place is not null)
            {
                Array.Fill(map, true, place.Block, blocks);
                taken.Add(place);
            }
        }

        Assert.That(_file.IsEmpty, Is.EqualTo(taken.Count == 0));
        taken.ForEach(_file.Free);
        Assert.That(_file.IsEmpty);
    }
}
