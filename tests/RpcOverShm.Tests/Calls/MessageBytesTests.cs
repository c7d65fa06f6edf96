using System.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Testing;

namespace RpcOverShm.Tests.Calls;

public class MessageBytesTests
{
    [TestCase(0)]
    [TestCase(1)]
    [TestCase(100_000)]
    public void AsSequence_OfOnePiece_IsTheBytes(int length)
    {
        byte[] expected = Random(length);
        var bytes = new MessageBytes(expected);

        Assert.That(bytes.Length, Is.EqualTo(length));
        Assert.That(bytes.IsEmpty, Is.False, "A message of no bytes is a message.");
        Assert.That(bytes.AsSequence().ToArray(), Is.EqualTo(expected));
        Assert.That(bytes.ToArray(), Is.EqualTo(expected));
        bytes.Release();
    }

    [Test]
    public void Append_OfManyParts_KeepsEveryByteInItsPlace()
    {
        Random random = TestSeed.NewRandom();
        for (int round = 0; round < 200; round++)
        {
            byte[] expected = new byte[random.Next(300_000)];
            random.NextBytes(expected);
            var bytes = new MessageBytes(random.Next(5000));
            int done = 0;
            while (done < expected.Length)
            {
                int part = Math.Min(random.Next(40_000), expected.Length - done);
                bytes.Append(expected.AsSpan(done, part), expected.Length - done - part);
                done += part;
            }

            Assert.That(bytes.Length, Is.EqualTo(expected.Length));
            Assert.That(bytes.AsSequence().ToArray().AsSpan().SequenceEqual(expected));
            Assert.That(bytes.ToArray().AsSpan().SequenceEqual(expected), "Also when asked again.");
            bytes.Release();
        }
    }

    [Test]
    public void AsSequence_OfALargeMessage_IsAWellFormedChain()
    {
        var bytes = new MessageBytes(16);
        byte[] part = Random(50_000);
        for (int i = 0; i < 10; i++)
        {
            bytes.Append(part, (9 - i) * part.Length);
        }

        ReadOnlySequence<byte> sequence = bytes.AsSequence();

        Assert.That(sequence.IsSingleSegment, Is.False);
        Assert.That(sequence.Length, Is.EqualTo(500_000));
        Assert.That(sequence.Slice(50_000, 50_000).ToArray(), Is.EqualTo(part));
        var reader = new SequenceReader<byte>(sequence);
        reader.Advance(499_999);
        Assert.That(reader.TryRead(out byte last));
        Assert.That(last, Is.EqualTo(part[^1]));
        bytes.Release();
    }

    [Test]
    public void Append_OfAMessageThatPromisesMuch_RentsNoMoreThanHasCome()
    {
        // The length that a peer announces is only a promise: it must not make this side rent a gigabyte.
        var bytes = new MessageBytes(1000);
        byte[] part = new byte[1000];
        bytes.Append(part, 1 << 30);
        long before = GC.GetAllocatedBytesForCurrentThread();

        for (int i = 0; i < 8; i++)
        {
            bytes.Append(part, 1 << 30);
        }

        Assert.That(GC.GetAllocatedBytesForCurrentThread() - before, Is.LessThan(1 << 20));
        bytes.Release();
    }

    [Test]
    public void Release_Twice_ReturnsTheArraysOnce()
    {
        var bytes = new MessageBytes("abc"u8);

        bytes.Release();

        Assert.That(bytes.IsEmpty);
        Assert.That(bytes.Length, Is.Zero);
        Assert.That(() => bytes.Release(), Throws.Nothing);
    }

    [Test]
    public void Release_OfAChain_ReturnsEachArrayOnce()
    {
        // An array that came back twice would be handed to two renters.
        for (int round = 0; round < 50; round++)
        {
            var bytes = new MessageBytes(16);
            for (int i = 0; i < 6; i++)
            {
                bytes.Append(new byte[3000], (5 - i) * 3000);
            }

            if (round % 2 == 0)
            {
                bytes.AsSequence();
            }

            bytes.Release();
            byte[][] rented = [.. Enumerable.Range(0, 24).Select(i => ArrayPool<byte>.Shared.Rent(16 << (i % 12)))];
            Assert.That(rented.Distinct(ReferenceEqualityComparer.Instance).Count(), Is.EqualTo(rented.Length));
            Array.ForEach(rented, array => ArrayPool<byte>.Shared.Return(array));
        }
    }

    private static byte[] Random(int length)
    {
        byte[] bytes = new byte[length];
        new Random(1).NextBytes(bytes);
        return bytes;
    }
}
