using System.Buffers;
using RpcOverShm.Buffers;

namespace RpcOverShm.Tests.Buffers;

public class ReceivedMessageTests
{
    private static readonly PayloadAccessHint s_asArray = new(isInChunks: false) { IsAsArray = true };

    [TestCase(0)]
    [TestCase(1)]
    [TestCase(100_000)]
    public void AsSequence_OfOnePiece_IsTheBytes(int length)
    {
        byte[] expected = BytePattern.Of(length);
        var bytes = new ReceivedMessage(expected);

        Assert.That(bytes.Length, Is.EqualTo(length));
        Assert.That(bytes.IsEmpty, Is.False, "A message of no bytes is a message.");
        SameBytes.Assert(bytes.AsSequence().ToArray(), expected);
        SameBytes.Assert(bytes.TakeArray(), expected);
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
            var bytes = new ReceivedMessage(random.Next(5000));
            int done = 0;
            while (done < expected.Length)
            {
                int part = Math.Min(random.Next(40_000), expected.Length - done);
                bytes.Append(expected.AsSpan(done, part), expected.Length - done - part);
                done += part;
            }

            Assert.That(bytes.Length, Is.EqualTo(expected.Length));
            SameBytes.Assert(bytes.AsSequence().ToArray(), expected);
            SameBytes.Assert(bytes.TakeArray(), expected, "Also as an array.");
            bytes.Release();
        }
    }

    [Test]
    public void AsSequence_OfALargeMessage_IsAWellFormedChain()
    {
        var bytes = new ReceivedMessage(16);
        byte[] part = BytePattern.Of(50_000);
        for (int i = 0; i < 10; i++)
        {
            bytes.Append(part, (9 - i) * part.Length);
        }

        ReadOnlySequence<byte> sequence = bytes.AsSequence();

        Assert.That(sequence.IsSingleSegment, Is.False);
        Assert.That(sequence.Length, Is.EqualTo(500_000));
        SameBytes.Assert(sequence.Slice(50_000, 50_000).ToArray(), part);
        var reader = new SequenceReader<byte>(sequence);
        reader.Advance(499_999);
        Assert.That(reader.TryRead(out byte last));
        Assert.That(last, Is.EqualTo(part[^1]));
        bytes.Release();
    }

    [Test]
    public void Append_OfAMessageThatPromisesMuch_RentsNoMoreThanHasCome()
    {
        // The announced length is only a claim of the peer: it must not make this side rent a gigabyte.
        var bytes = new ReceivedMessage(1000);
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
        var bytes = new ReceivedMessage("abc"u8);

        bytes.Release();

        Assert.That(bytes.IsEmpty);
        Assert.That(bytes.Length, Is.Zero);
        Assert.That(() => bytes.Release(), Throws.Nothing);
    }

    [Test]
    public void Release_OfAChain_ReturnsEachArrayOnce()
    {
        // An array returned twice would be rented to two users.
        for (int round = 0; round < 50; round++)
        {
            var bytes = new ReceivedMessage(16);
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

    [Test]
    public void AsSequence_OfChainsAtTheSameTime_KeepsThemApart()
    {
        byte[][] expected = [.. Enumerable.Range(0, 4).Select(i => BytePattern.Of(300_000 + (i * 50_000), (ulong)i))];
        for (int round = 0; round < 3; round++)
        {
            ReceivedMessage[] messages =
                [.. expected.Select(bytes => ReceivedMessage.InChunks(new ReadOnlySequence<byte>(bytes)))];
            for (int i = 0; i < messages.Length; i++)
            {
                SameBytes.Assert(messages[i].AsSequence().ToArray(), expected[i]);
            }

            for (int i = 0; i < messages.Length; i++)
            {
                messages[i].Release();
            }
        }
    }

    [Test]
    public void Release_OfAChain_LeavesNothingInItsSegments()
    {
        ReceivedMessage bytes = ReceivedMessage.InChunks(new ReadOnlySequence<byte>(BytePattern.Of(200_000)));
        var segment = (ReadOnlySequenceSegment<byte>)bytes.AsSequence().Start.GetObject()!;

        bytes.Release();

        Assert.That(segment.Memory.IsEmpty, "Who uses it too late does not see what another message has there.");
    }

    [Test]
    public void InChunks_OfLargeMessagesOneAfterAnother_AllocatesOnce()
    {
        var large = new ReadOnlySequence<byte>(BytePattern.Of(1 << 20));
        PutTogether();
        long before = GC.GetAllocatedBytesForCurrentThread();
        PutTogether();
        Assert.That(GC.GetAllocatedBytesForCurrentThread() - before, Is.Zero);

        void PutTogether()
        {
            ReceivedMessage bytes = ReceivedMessage.InChunks(large);
            _ = bytes.AsSequence();
            bytes.Release();
        }
    }

    [Test]
    public void TakeArray_OfAMessageThatWasPutTogetherInIt_IsThatArray()
    {
        byte[] expected = BytePattern.Of(100_000);
        ReceivedMessage bytes = ReceivedMessage.ToCome(expected.Length, firstBytes: 40_000, s_asArray);
        bytes.Append(expected.AsSpan(0, 40_000), 60_000);
        bytes.Append(expected.AsSpan(40_000), 0);
        SameBytes.Assert(bytes.AsSequence().ToArray(), expected);

        long before = GC.GetAllocatedBytesForCurrentThread();
        byte[] taken = bytes.TakeArray();
        bytes.Release();

        Assert.That(GC.GetAllocatedBytesForCurrentThread() - before, Is.LessThan(10_000), "Nothing was copied.");
        SameBytes.Assert(taken, expected);
    }

    [TestCase(ReceivedMessage.SmallestArrayBytes)]
    [TestCase(10_000)]
    public void Of_AMessageThatIsTakenAsAnArray_IsCopiedOnceAndPromisesNothing(int length)
    {
        byte[] expected = BytePattern.Of(length);
        byte[] taken = [];
        TakeIt();

        long before = GC.GetAllocatedBytesForCurrentThread();
        TakeIt();
        long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
        before = GC.GetAllocatedBytesForCurrentThread();
        _ = GC.AllocateUninitializedArray<byte>(length);

        Assert.That(allocated, Is.EqualTo(GC.GetAllocatedBytesForCurrentThread() - before), "One array.");
        SameBytes.Assert(taken, expected);

        void TakeIt()
        {
            ReceivedMessage bytes = ReceivedMessage.Of(expected, s_asArray);
            taken = bytes.TakeArray();
            bytes.Release();
        }
    }

    [TestCase(ReceivedMessage.SmallestArrayBytes - 1, true)]
    [TestCase(10_000, false)]
    public void Of_AMessageThatIsSmallOrTakenOtherwise_IsInThePoolsArray(int length, bool isTakenAsArray)
    {
        byte[] expected = BytePattern.Of(length);
        var hint = new PayloadAccessHint(isInChunks: false) { IsAsArray = isTakenAsArray };
        ReceivedMessage.Of(expected, hint).Release();
        long before = GC.GetAllocatedBytesForCurrentThread();

        ReceivedMessage bytes = ReceivedMessage.Of(expected, hint);

        Assert.That(GC.GetAllocatedBytesForCurrentThread() - before, Is.Zero);
        SameBytes.Assert(bytes.AsSequence().ToArray(), expected);
        bytes.Release();
    }

    [Test]
    public void ToCome_OfMessagesThatNobodyReleases_IsNotLostForEver()
    {
        CutOff();
        Assert.That(
            () =>
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
                return ReceiveReservation.Outstanding;
            },
            Is.Zero.After(10_000, 10));

        // Not inlined, so that no reference remains on the stack.
        [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
        static void CutOff()
        {
            ReceivedMessage bytes = ReceivedMessage.ToCome(1 << 20, firstBytes: 1, s_asArray);
            bytes.Append([1], (1 << 20) - 1);
            Assert.That(ReceiveReservation.Outstanding, Is.GreaterThan(0));
        }
    }

    [Test]
    public void ToCome_OfMuchThatNeverComes_HoldsNoMoreThanItsShare()
    {
        const int Announced = 4 << 20;
        var held = new List<ReceivedMessage>();
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < 1000; i++)
        {
            ReceivedMessage bytes = ReceivedMessage.ToCome(Announced, firstBytes: 1, s_asArray);
            bytes.Append([1], Announced - 1);
            held.Add(bytes);
        }

        Assert.That(GC.GetAllocatedBytesForCurrentThread() - before, Is.LessThan(80 << 20), "Not 4 GiB.");
        held.ForEach(bytes => bytes.Release());
        ReceivedMessage next = ReceivedMessage.ToCome(Announced, firstBytes: 1, s_asArray);
        before = GC.GetAllocatedBytesForCurrentThread();
        next.Append(new byte[Announced], 0);
        Assert.That(next.TakeArray(), Has.Length.EqualTo(Announced));
        Assert.That(
            GC.GetAllocatedBytesForCurrentThread() - before,
            Is.LessThan(2 * Announced),
            "What was given back is there again: one array for the test, and none besides.");
        next.Release();
    }
}
