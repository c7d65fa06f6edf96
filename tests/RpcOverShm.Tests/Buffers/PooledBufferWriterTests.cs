using System.Buffers;
using RpcOverShm.Buffers;

namespace RpcOverShm.Tests.Buffers;

public class PooledBufferWriterTests
{
    private readonly PooledBufferWriter _writer = new();

    [TearDown]
    public void ReturnBuffer() => _writer.Dispose();

    [Test]
    public void Write_OfManyPieces_CollectsThem()
    {
        Random random = TestSeed.NewRandom();
        var expected = new List<byte>();
        for (int i = 0; i < 1000; i++)
        {
            byte[] piece = new byte[random.Next(300)];
            random.NextBytes(piece);
            _writer.Write(piece);
            expected.AddRange(piece);
        }

        Assert.That(_writer.WrittenSpan.SequenceEqual(expected.ToArray()));
        Assert.That(_writer.Length, Is.EqualTo(expected.Count));
    }

    [TestCase(0)]
    [TestCase(1)]
    [TestCase(100_000)]
    public void GetSpan_OfSize_HasAtLeastThatMuchAndNeverNothing(int size)
    {
        Assert.That(_writer.GetSpan(size).Length, Is.GreaterThanOrEqualTo(Math.Max(size, 1)));
        Assert.That(_writer.GetMemory(size).Length, Is.GreaterThanOrEqualTo(Math.Max(size, 1)));
    }

    [Test]
    public void Advance_BeyondWhatWasHandedOut_IsRefused()
    {
        int room = _writer.GetSpan(10).Length;

        Assert.That(() => _writer.Advance(room + 1), Throws.TypeOf<ArgumentOutOfRangeException>());
        Assert.That(() => _writer.Advance(-1), Throws.TypeOf<ArgumentOutOfRangeException>());
        Assert.That(_writer.Length, Is.Zero);
    }

    [Test]
    public void Clear_OfASmallBuffer_KeepsItForTheNextUse()
    {
        _writer.Write(new byte[100]);
        byte[] before = ArrayOf(_writer);

        _writer.Clear();
        _writer.Write(new byte[100]);

        Assert.That(ArrayOf(_writer), Is.SameAs(before));
        Assert.That(_writer.Length, Is.EqualTo(100));
    }

    [Test]
    public void Clear_OfALargeBuffer_GivesItBack()
    {
        _writer.Write(new byte[1 << 20]);

        _writer.Clear();

        Assert.That(_writer.GetSpan().Length, Is.LessThan(1 << 20));
    }

    [Test]
    public void Detach_OfBytes_HandsThemOverAndStartsAfresh()
    {
        _writer.Write("abc"u8);

        byte[] buffer = _writer.Detach(out int length);
        _writer.Write("z"u8);

        Assert.That(buffer[..length], Is.EqualTo("abc"u8.ToArray()));
        Assert.That(_writer.WrittenSpan.SequenceEqual("z"u8));
        ArrayPool<byte>.Shared.Return(buffer);
    }

    [Test]
    public void Detach_OfABorrowedArray_HandsACopyOver([Values(0, 3, 100_000)] int length)
    {
        byte[] lent = new byte[length];
        TestSeed.NewRandom().NextBytes(lent);
        _writer.Borrow(lent);

        byte[] buffer = _writer.Detach(out int detached);
        _writer.Write("z"u8);

        Assert.That(buffer, Is.Not.SameAs(lent), "Who detaches gives it to the pool.");
        Assert.That(buffer[..detached], Is.EqualTo(lent));
        Assert.That(_writer.WrittenSpan.SequenceEqual("z"u8));
        ArrayPool<byte>.Shared.Return(buffer);
    }

    [Test]
    public void Own_OfABorrowedArray_IsACopy()
    {
        byte[] lent = "abc"u8.ToArray();
        _writer.Borrow(lent);
        Assert.That(_writer.IsBorrowed);

        _writer.Own();
        lent[0] = (byte)'z';

        Assert.That(_writer.IsBorrowed, Is.False);
        Assert.That(_writer.WrittenSpan.SequenceEqual("abc"u8));
    }

    [Test]
    public void Borrow_InPlaceOfAnother_OwnsNeither()
    {
        byte[] first = new byte[1024];
        _writer.Borrow(first);

        _writer.Borrow("abc"u8.ToArray());

        Assert.That(_writer.WrittenSpan.SequenceEqual("abc"u8));
        _writer.Clear();
        Assert.That(_writer.GetSpan(1).Overlaps(first), Is.False);
    }

    [Test]
    public void RemoveFirst_OfABorrowedArray_LeavesThatAlone()
    {
        byte[] lent = "abc"u8.ToArray();
        _writer.Borrow(lent);

        _writer.RemoveFirst(1);
        _writer.Written(0, 1)[0] = (byte)'z';

        Assert.That(_writer.WrittenSpan.SequenceEqual("zc"u8));
        Assert.That(lent, Is.EqualTo("abc"u8.ToArray()));
    }

    [Test]
    public void Write_BehindABorrowedArray_LeavesThatAlone()
    {
        byte[] lent = "abc"u8.ToArray();
        _writer.Borrow(lent);
        Assert.That(() => _writer.Advance(1), Throws.TypeOf<ArgumentOutOfRangeException>());

        _writer.Write("d"u8);

        Assert.That(_writer.WrittenSpan.SequenceEqual("abcd"u8));
        Assert.That(lent, Is.EqualTo("abc"u8.ToArray()));
        Assert.That(ArrayOf(_writer), Is.Not.SameAs(lent));
    }

    [Test]
    public void Clear_OfABorrowedArray_KeepsTheOwnOne()
    {
        _writer.Write("abc"u8);
        byte[] own = ArrayOf(_writer);
        _writer.Clear();
        _writer.Borrow(new byte[1 << 20]);
        Assert.That(_writer.Length, Is.EqualTo(1 << 20));

        _writer.Clear();
        _writer.Write("z"u8);

        Assert.That(_writer.WrittenSpan.SequenceEqual("z"u8));
        Assert.That(ArrayOf(_writer), Is.SameAs(own));
    }

    [Test]
    public void Dispose_OfABorrowedArray_GivesItToNobody()
    {
        byte[] lent = new byte[4096];
        _writer.Borrow(lent);

        _writer.Dispose();

        // The pool rents the array first that this thread has returned last.
        byte[] rented = ArrayPool<byte>.Shared.Rent(lent.Length);
        Assert.That(rented, Is.Not.SameAs(lent));
        ArrayPool<byte>.Shared.Return(rented);
    }

    [Test]
    public void Written_OfAPlaceBeyondTheBytes_IsRefused()
    {
        _writer.Write("abc"u8);

        Assert.That(_writer.Written(1, 2).ToArray(), Is.EqualTo("bc"u8.ToArray()));
        Assert.That(() => _writer.Written(1, 3).Length, Throws.TypeOf<ArgumentOutOfRangeException>());
    }

    [Test]
    public void Reserve_OfANegativeSize_IsRefused()
    {
        Assert.That(() => _writer.Reserve(-1), Throws.TypeOf<ArgumentOutOfRangeException>());
    }

    [Test]
    public void Dispose_Twice_ReturnsTheBufferOnce()
    {
        _writer.Write("abc"u8);

        _writer.Dispose();

        Assert.That(_writer.Dispose, Throws.Nothing);
        Assert.That(_writer.Length, Is.Zero);
    }

    private static byte[] ArrayOf(PooledBufferWriter writer) =>
        System.Runtime.InteropServices.MemoryMarshal.TryGetArray(writer.GetMemory(), out ArraySegment<byte> segment)
            ? segment.Array!
            : throw new InvalidOperationException("The memory is no array.");
}
