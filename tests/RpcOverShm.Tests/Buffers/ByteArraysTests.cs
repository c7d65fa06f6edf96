using RpcOverShm.Buffers;

namespace RpcOverShm.Tests.Buffers;

/// <summary>The pool of large arrays: what it hands out, and the bound of what it keeps.</summary>
[NonParallelizable]
internal sealed class ByteArraysTests
{
    [TestCase(1, 16)]
    [TestCase(65_536, 65_536)]
    [TestCase(65_537, 131_072)]
    [TestCase(131_073, 262_144)]
    [TestCase(1 << 26, 1 << 26)]
    [TestCase((1 << 26) + 1, (1 << 26) + 1)]
    public void Rent_OfASize_IsTheNextOneUp(int size, int length)
    {
        byte[] array = ByteArrays.Rent(size);

        Assert.That(array, Has.Length.EqualTo(length));
        ByteArrays.Return(array);
    }

    [Test]
    public void Return_OfALargeArray_LetsTheNextOneHaveIt()
    {
        byte[] first = ByteArrays.Rent(300_000);
        ByteArrays.Return(first);

        byte[] second = ByteArrays.Rent(400_000);

        Assert.That(second, Is.SameAs(first));
        ByteArrays.Return(second);
    }

    [Test]
    public void Return_OfMoreThanTheBound_KeepsNoMore()
    {
        byte[][] arrays =
            [.. Enumerable.Range(0, 100).Select(_ => ByteArrays.Rent(1 << 20)), ByteArrays.Rent(65 << 20)];

        foreach (byte[] array in arrays)
        {
            ByteArrays.Return(array);
        }

        Assert.That(ByteArrays.KeptBytes, Is.InRange(60 << 20, ByteArrays.MostKeptBytes));
    }

    [Test]
    public void Return_OfAVeryLargeArray_DrivesOutNoOthers()
    {
        byte[][] arrays = [.. Enumerable.Range(0, 100).Select(_ => ByteArrays.Rent(64 << 10))];
        byte[] veryLarge = ByteArrays.Rent(64 << 20);
        Array.ForEach(arrays, ByteArrays.Return);

        ByteArrays.Return(veryLarge);

        Assert.That(ByteArrays.Rent(64 << 10), Is.SameAs(arrays[^1]));
    }

    [Test]
    public void Return_AfterABurstOfAnotherSize_TakesItsPlace()
    {
        byte[][] burst = [.. Enumerable.Range(0, 100).Select(_ => ByteArrays.Rent(1 << 20))];
        byte[][] later = [.. Enumerable.Range(0, 100).Select(_ => ByteArrays.Rent(64 << 10))];
        Array.ForEach(burst, ByteArrays.Return);

        Array.ForEach(later, ByteArrays.Return);

        Assert.That(ByteArrays.KeptBytes, Is.AtMost(ByteArrays.MostKeptBytes));
        Assert.That(ByteArrays.Rent(64 << 10), Is.SameAs(later[^1]));
    }
}
