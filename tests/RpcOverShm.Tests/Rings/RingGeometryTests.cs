using RpcOverShm.Rings;

namespace RpcOverShm.Tests.Rings;

/// <summary>Every position of head and tail in a tiny ring, with every size of record.</summary>
public class RingGeometryTests
{
    private const int Capacity = 512;

    [Test]
    public void TryClaim_AtEveryHeadTailAndSize_FindsRoomExactlyWhereThereIsSome([Values] bool isControl)
    {
        using var ring = new RingPair(Capacity);
        for (int head = 0; head < Capacity; head += 16)
        {
            for (int used = 0; used <= Capacity; used += 16)
            {
                for (int size = 0; size <= ring.MaxPayloadBytes; size++)
                {
                    FillAndTry(ring, head, used, size, isControl);
                }
            }
        }
    }

    [Test]
    public void TryClaim_OfTheLargestRecord_SucceedsAtEveryPlaceOfADrainedRing()
    {
        using var ring = new RingPair(Capacity);
        for (int start = 0; start < Capacity * 2; start += 16)
        {
            ring.AdvanceTo(NextWithIndex(ring.Reader.Position, start % Capacity));

            Assert.That(ring.Writer.TryClaim(ring.MaxPayloadBytes, isControl: false, out _), $"at {start}");
        }
    }

    [Test]
    public void TryClaim_WhenNeitherEndNorStartHasRoom_LeavesNothingBehind()
    {
        // Two free pieces of 32 bytes, one at the end and one at the start, and a record of 64: padding the end would
        // use up free space and leave no place for the record.
        using var ring = new RingPair(Capacity);
        ring.AdvanceTo(Capacity - 32);
        ring.FillUp(kind: 5, isControl: true);
        for (int i = 0; i < 4; i++)
        {
            ring.Read();
        }

        ring.Reader.PublishHead();
        byte[] before = ring.Data.ToArray();
        long tail = ring.Tail;

        Assert.That(ring.Writer.TryClaim(ring.MaxPayloadBytes, isControl: true, out _), Is.False);
        ring.Writer.Publish();
        Assert.That(ring.Tail, Is.EqualTo(tail));
        Assert.That(ring.Data.SequenceEqual(before), "Nothing was padded.");
        Assert.That(ring.TryWrite(new byte[16], kind: 6, isControl: true), "The end itself is free.");
        Assert.That(ring.Data[..(Capacity - 32)].SequenceEqual(before.AsSpan(0, Capacity - 32)));
    }

    [Test]
    public void TryClaim_OfData_LeavesTheReserveToControlRecords()
    {
        using var ring = new RingPair(Capacity);

        Assert.That(ring.FillUp() * 16, Is.EqualTo(Capacity - (Capacity / 16)));
        Assert.That(ring.FillUp(isControl: true) * 16, Is.EqualTo(Capacity / 16));
    }

    [Test]
    public void Commit_OfARecordThatDoesNotFitBeforeTheEnd_PadsExactlyToTheEnd()
    {
        using var ring = new RingPair(Capacity);
        ring.AdvanceTo(Capacity - 48);

        ring.Write(Enumerable.Repeat((byte)9, 48).ToArray());

        Span<byte> padding = ring.Data[(Capacity - 48)..];
        Assert.That(BitConverter.ToUInt32(padding), Is.EqualTo(32u));
        Assert.That(padding[4], Is.EqualTo(RecordHeader.PaddingKind));
        Assert.That(BitConverter.ToUInt32(ring.Data), Is.EqualTo(48u));
        Assert.That(ring.Tail, Is.EqualTo(Capacity + 64));
        Assert.That(ring.Read(), Has.Length.EqualTo(48).And.All.EqualTo(9));
    }

    [Test]
    public void Commit_OfARecordThatFitsExactly_PadsNothing()
    {
        using var ring = new RingPair(Capacity);
        ring.AdvanceTo(Capacity - 48);

        ring.Write(new byte[32]);

        Assert.That(ring.Tail, Is.EqualTo(Capacity));
        Assert.That(ring.Read(), Has.Length.EqualTo(32));
    }

    [TestCase(0L, 16L)]
    [TestCase(1L, 32L)]
    [TestCase(16L, 32L)]
    [TestCase(17L, 48L)]
    [TestCase(uint.MaxValue, 4_294_967_312L)]
    public void RecordLength_OfPayload_IsRoundedUpIn64Bits(long payload, long length)
    {
        Assert.That(RecordHeader.RecordLength(payload), Is.EqualTo(length));
    }

    [TestCase(64 << 10)]
    [TestCase(1 << 20)]
    [TestCase(1 << 30)]
    public void Limits_OfEveryCapacity_LetTheLargestRecordPassAfterAWake(int capacity)
    {
        long largest = RecordHeader.RecordLength(RingLimits.MaxPayloadBytes(capacity));
        long worstPadding = largest - 16;
        long reserve = RingLimits.ControlReserveBytes(capacity);

        Assert.That(largest, Is.EqualTo(capacity / 8));
        Assert.That(RingLimits.SpaceWakeBytes(capacity), Is.GreaterThanOrEqualTo(largest + worstPadding + reserve));
        Assert.That(RingLimits.LazyHeadBytes(capacity), Is.LessThan(capacity - RingLimits.SpaceWakeBytes(capacity)));
    }

    private static void FillAndTry(RingPair ring, int head, int used, int size, bool isControl)
    {
        ring.AdvanceTo(NextWithIndex(ring.Reader.Position, head));
        int records = used / 16;
        for (int i = 0; i < records; i++)
        {
            ring.TryWrite([], kind: 5, isControl: true);
        }

        byte[] payload = new byte[size];
        payload.AsSpan().Fill((byte)size);
        bool isWritten = ring.TryWrite(payload, kind: 6, isControl);
        ring.Writer.Publish();

        bool isRoom = HasRoom((head + used) % Capacity, used, size, isControl);
        bool isRight = isWritten == isRoom && DrainsTo(ring, records, isWritten ? payload : null);
        Assert.That(isRight, $"head {head}, used {used}, size {size}: {isWritten} where {isRoom} is right");
    }

    private static bool HasRoom(int tailIndex, int used, int size, bool isControl)
    {
        int length = (16 + size + 15) / 16 * 16;
        int skipped = tailIndex + length <= Capacity ? 0 : Capacity - tailIndex;
        return used + skipped + length + (isControl ? 0 : Capacity / 16) <= Capacity;
    }

    private static bool DrainsTo(RingPair ring, int emptyRecords, byte[]? last)
    {
        bool isRight = true;
        for (int i = 0; i < emptyRecords; i++)
        {
            isRight &= ring.Reader.TryRead(out RecordHeader header, out ReadOnlySpan<byte> payload)
                && header.Kind == 5 && payload.IsEmpty;
            ring.Reader.Release();
        }

        if (last is not null)
        {
            isRight &= ring.Reader.TryRead(out RecordHeader header, out ReadOnlySpan<byte> payload)
                && header.Kind == 6 && payload.SequenceEqual(last);
            ring.Reader.Release();
        }

        isRight &= !ring.Reader.TryRead(out _, out _);
        ring.Reader.PublishHead();
        return isRight;
    }

    private static long NextWithIndex(long position, long index)
    {
        long candidate = (position & ~(Capacity - 1L)) + index;
        return candidate >= position ? candidate : candidate + Capacity;
    }
}
