using RpcOverShm.Linux;
using RpcOverShm.Rings;
using RpcOverShm.Segments;
using RpcOverShm.Tests.Segments;

namespace RpcOverShm.Tests.Rings;

/// <summary>The move of a writer from the first ring to the second, and of its reader behind it.</summary>
public unsafe class RingGrowthTests
{
    private const int First = 64 << 10;
    private const int Second = 128 << 10;
    private const int SmallRecord = 4000;

    private readonly RingPair _ring = new(Second);

    [TearDown]
    public void Dispose() => _ring.Dispose();

    [Test, LinuxOnly("A memory file gets its memory later; a section has all of it.")]
    public void Segment_WithTwoRings_BeginsWithMemoryForTheFirst()
    {
        using SharedSegment segment = SharedSegment.Create(Second, Guid.Empty);

        Assert.That(FileFacts.OfDescriptor(segment.Handle).SizeBytes, Is.EqualTo(4096 + First + Second));
        Assert.That(FileFacts.OfDescriptor(segment.Handle).AllocatedBytes, Is.EqualTo(4096 + First));
        Assert.That(segment.TryAllocateSecond(), Is.Null);
        Assert.That(FileFacts.OfDescriptor(segment.Handle).AllocatedBytes, Is.EqualTo(4096 + First + Second));
    }

    [Test, LinuxOnly("A system call filter.")]
    public void Segment_OnAKernelThatGivesNoMemoryLater_HasAllOfItAtOnce()
    {
        using SharedSegment segment = SharedSegment.Create(
            Second,
            Guid.Empty,
            MemoryFile.Create(
                SegmentLayout.SizeBytes(Second), SegmentLayout.FirstSizeBytes(Second), canAllocateMapped: false));

        Assert.That(FileFacts.OfDescriptor(segment.Handle).AllocatedBytes, Is.EqualTo(4096 + First + Second));
        segment.SecondData[Second - 1] = 1;
        Assert.That(segment.TryAllocateSecond(), Is.Null);
    }

    [Test]
    public void Writer_WhoseRingIsLargeEnough_NeverAsks()
    {
        for (int i = 0; i < 1000; i++)
        {
            _ring.Write(new byte[SmallRecord]);
            _ring.Drain();
        }

        Assert.That(_ring.GrowthsWanted, Is.Zero);
        Assert.That(_ring.Writer.MaxPayloadBytes, Is.EqualTo(RingLimits.MaxPayloadBytes(First)));
    }

    [Test]
    public void Writer_WhoseReaderHasStopped_NeverAsks()
    {
        _ring.FillUp(SmallRecord);
        for (int i = 0; i < 1000; i++)
        {
            Assert.That(_ring.TryWrite(new byte[SmallRecord]), Is.False);
        }

        Assert.That(_ring.GrowthsWanted, Is.Zero);
    }

    [Test]
    public void Writer_WhoseRingIsFullAgainAfterProgress_AsksOnce()
    {
        for (int i = 0; i < 3; i++)
        {
            _ring.FillUp(SmallRecord);
            _ring.Drain();
            _ring.Reader.PublishHead();
        }

        _ring.Writer.WantGrowth();
        Assert.That(_ring.GrowthsWanted, Is.EqualTo(1));
    }

    [Test]
    public void Writer_OfASegmentWithOneRing_NeverAsks()
    {
        using var small = new RingPair(First);

        small.Writer.WantGrowth();
        for (int i = 0; i < 3; i++)
        {
            small.FillUp(SmallRecord);
            small.Drain();
            small.Reader.PublishHead();
        }

        Assert.That(small.GrowthsWanted, Is.Zero);
    }

    [Test]
    public void Record_AfterTheMove_IsInTheSecondRingAndAsLargeAsThatAllows()
    {
        _ring.Write("before"u8);
        Grow();
        _ring.Write("small"u8);
        Assert.That(_ring.Tail, Is.EqualTo(32 + RecordHeader.SizeBytes + 32));
        byte[] large = BytePattern.Of(RingLimits.MaxPayloadBytes(Second));
        _ring.Write(large);

        Assert.That(_ring.Writer.MaxPayloadBytes, Is.EqualTo(large.Length));
        Assert.That(_ring.Read(), Is.EqualTo("before"u8.ToArray()));
        Assert.That(_ring.Read(), Is.EqualTo("small"u8.ToArray()));
        Assert.That(_ring.Read(), Is.EqualTo(large));
        Assert.That(_ring.Reader.HasData, Is.False);
        Assert.That(_ring.Reader.Position, Is.EqualTo(_ring.Tail));
    }

    [Test]
    public void Claim_ThatIsDropped_DoesNotMove()
    {
        Grow();

        Assert.That(_ring.Writer.TryClaim(10, isControl: false, out RingClaim claim) && claim.IsMoving);

        Assert.That(_ring.Writer.HasUnpublished, Is.False);
        Assert.That(_ring.Writer.MaxPayloadBytes, Is.EqualTo(RingLimits.MaxPayloadBytes(First)));
    }

    [Test]
    public void Move_InARingFullOfData_TakesTheControlReserve_AndTheSecondRingIsAllFree()
    {
        int before = _ring.FillUp(SmallRecord);
        Grow();

        int after = _ring.FillUp(SmallRecord);

        // A record may lie at the end of the data, where padding takes its place.
        Assert.That(
            (after + 1) * RecordHeader.RecordLength(SmallRecord),
            Is.InRange(Second - (Second / 16) - RecordHeader.RecordLength(SmallRecord), Second));
        for (int i = 0; i < before + after; i++)
        {
            Assert.That(_ring.Read(), Has.Length.EqualTo(SmallRecord));
        }

        Assert.That(_ring.Reader.HasData, Is.False);
    }

    [Test]
    public void Move_InARingFullOfControlRecords_WaitsForARecordToBeRead()
    {
        int before = _ring.FillUp(isControl: true);
        Grow();

        Assert.That(_ring.TryWrite([], isControl: true), Is.False);
        _ring.Read();
        _ring.Reader.PublishHead();
        Assert.That(_ring.TryWrite([], isControl: true), "The record of the move fits, and the next ring is empty.");
        _ring.Writer.Publish();

        Assert.That(_ring.Writer.MaxPayloadBytes, Is.EqualTo(RingLimits.MaxPayloadBytes(Second)));
        for (int i = 0; i < before; i++)
        {
            _ring.Read();
        }

        Assert.That(_ring.Reader.HasData, Is.False);
    }

    // The reader applies the capacity of the ring in which it is. So it does not wake too early, and wakes in the end.
    [Test]
    public void Writer_ParkedInTheSecondRing_IsWokenWhenThatHasSpace()
    {
        int before = _ring.FillUp(SmallRecord);
        Grow();
        int after = _ring.FillUp(SmallRecord);
        Assert.That(_ring.Writer.ParkForSpace(WakeMethods.Doorbell), Is.Zero);

        int read = _ring.ReadUntilWake();

        Assert.That(read, Is.InRange(before + (after / 3), before + (after / 2)));
        Assert.That(_ring.TryWrite(new byte[SmallRecord]));
    }

    [TestCase(4)]
    [TestCase(20, Category = LongAttribute.Name)]
    public void RandomOperations_AroundAMove_BehaveLikeAQueue(int rounds)
    {
        Random random = TestSeed.NewRandom();
        for (int round = 0; round < rounds; round++)
        {
            using var ring = new RingPair(Second);
            var model = new Queue<byte[]>();
            int moveAt = random.Next(400);
            for (int step = 0; step < 1000; step++)
            {
                if (step == moveAt)
                {
                    Grow(ring);
                }

                if (random.Next(5) < 3)
                {
                    byte[] payload = BytePattern.Of(random.Next(ring.Writer.MaxPayloadBytes), (ulong)step);
                    if (ring.TryWrite(payload, isControl: random.Next(4) == 0))
                    {
                        model.Enqueue(payload);
                        ring.Writer.Publish();
                    }
                }
                else if (model.TryDequeue(out byte[]? expected))
                {
                    Assert.That(ring.Read(), Is.EqualTo(expected));
                }
            }

            while (model.TryDequeue(out byte[]? expected))
            {
                Assert.That(ring.Read(), Is.EqualTo(expected));
            }

            Assert.That(ring.Reader.HasData, Is.False);
        }
    }

    [Test, LinuxOnly("Holes of a memory file; a section has none.")]
    public void Reader_OfAMoveToARingWithHoles_SaysSo_AndTouchesNone()
    {
        using SharedSegment own = SharedSegment.Create(Second, Guid.Empty);
        using SharedSegment view = MappedSegment.ViewOf(own, Second);
        var reader = new RingReader(_ring.Producer.Own, view);
        *(RecordHeader*)own.Data = new RecordHeader(0, RecordHeader.MovedKind, 0, 0, 0, 0);
        own.Tail = 48;

        Assert.That(
            () => reader.TryRead(out _, out _),
            Throws.TypeOf<RingCorruptedException>().With.Message.Contains("has holes"));
        Assert.That(FileFacts.OfDescriptor(own.Handle).AllocatedBytes, Is.EqualTo(4096 + First));
    }

    [Test]
    public void Reader_OfASecondMove_CallsItCorrupted()
    {
        Grow();
        _ring.Write("x"u8, RecordHeader.MovedKind - 1);
        _ring.Read();
        long index = _ring.Tail & (Second - 1);
        *(RecordHeader*)(_ring.Producer.Own.SecondData + index) =
            new RecordHeader(0, RecordHeader.MovedKind, 0, 0, 0, 0);
        _ring.Tail += 16;

        AssertCorrupted(_ring.Reader, "no ring to move to");
    }

    [Test]
    public void Reader_OfAMoveInASegmentWithOneRing_CallsItCorrupted()
    {
        using var small = new RingPair(First);
        *(RecordHeader*)small.Producer.Own.Data = new RecordHeader(0, RecordHeader.MovedKind, 0, 0, 0, 0);
        small.Tail = 16;

        AssertCorrupted(small.Reader, "no ring to move to");
    }

    [TestCase(1u)]
    [TestCase(16u)]
    [TestCase(uint.MaxValue - 31)]
    public void Reader_OfAMoveWithAPayload_CallsItCorrupted(uint length)
    {
        *(RecordHeader*)_ring.Producer.Own.Data = new RecordHeader(length, RecordHeader.MovedKind, 0, 0, 0, 0);
        _ring.Tail = 64;

        AssertCorrupted(_ring.Reader, length > 48 ? "does not fit" : "other fields than its kind");
    }

    [TestCase(1, 0, 0u, 0u)]
    [TestCase(0, 1, 0u, 0u)]
    [TestCase(0, 0, 2u, 0u)]
    [TestCase(0, 0, 0u, 1u)]
    public void Reader_OfAMoveWithAnotherField_CallsItCorrupted(byte flags, int head, uint stream, uint argument)
    {
        Assert.That(_ring.Producer.Own.TryAllocateSecond(), Is.Null);
        *(RecordHeader*)_ring.Producer.Own.Data =
            new RecordHeader(0, RecordHeader.MovedKind, flags, (ushort)head, stream, argument);
        _ring.Tail = 48;

        AssertCorrupted(_ring.Reader, "a move has other fields than its kind");
    }

    // They are the writer's to set to 0; a reader has no use for them.
    [Test]
    public void Reader_OfPaddingWithOtherFields_IgnoresThem()
    {
        using var small = new RingPair(First);
        while (First - (small.Tail & (First - 1)) > RecordHeader.RecordLength(SmallRecord))
        {
            small.Write(new byte[SmallRecord]);
            small.Drain();
        }

        long padding = small.Tail;
        small.Write("x"u8.ToArray());
        small.Write(new byte[SmallRecord]);
        Assert.That(small.Read(), Is.EqualTo("x"u8.ToArray()));
        padding += RecordHeader.RecordLength(1);
        var place = (RecordHeader*)(small.Producer.Own.Data + (padding & (First - 1)));
        Assert.That(place->Kind, Is.EqualTo(RecordHeader.PaddingKind));
        *place = new RecordHeader(place->PayloadLength, RecordHeader.PaddingKind, 0xFF, 0xFFFF, uint.MaxValue, 7);

        Assert.That(small.Read(), Is.EqualTo(new byte[SmallRecord]));
    }

    [TestCase(First + Second, "more was written than fits into its second ring")]
    [TestCase(First + Second + 16, "its tail is")]
    public void Reader_OfATailBeyondTheSecondRing_CallsItCorrupted(long tail, string why)
    {
        _ring.Producer.Own.TryAllocateSecond();
        *(RecordHeader*)_ring.Producer.Own.Data = new RecordHeader(0, RecordHeader.MovedKind, 0, 0, 0, 0);
        _ring.Tail = tail;

        AssertCorrupted(_ring.Reader, why);
    }

    private static void AssertCorrupted(RingReader reader, string why) => Assert.That(
        () => reader.TryRead(out _, out _), Throws.TypeOf<RingCorruptedException>().With.Message.Contains(why));

    private void Grow() => Grow(_ring);

    private static void Grow(RingPair ring)
    {
        ring.Writer.WantGrowth();
        Assert.That(ring.Producer.Own.TryAllocateSecond(), Is.Null);
        ring.Writer.AllowMove();
    }
}
