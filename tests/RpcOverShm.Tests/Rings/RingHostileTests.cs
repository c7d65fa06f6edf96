using RpcOverShm.Rings;

namespace RpcOverShm.Tests.Rings;

/// <summary>
/// The other side writes arbitrary values into its own words and records. Each reader and writer either stays within
/// its bounds or throws the one exception that closes the connection.
/// </summary>
public class RingHostileTests
{
    private const int Capacity = 1024;
    private const int UsualCount = 50_000;

    private static readonly long[] s_evilPositions =
    [
        -1, -16, long.MinValue, long.MinValue + 16, long.MaxValue, long.MaxValue & ~15L, 1, 8, 15, 17, Capacity + 1,
        Capacity + 16, Capacity * 2, 1L << 32, (1L << 32) + 16, 1L << 62,
    ];

    private readonly RingPair _ring = new(Capacity);

    [TearDown]
    public void Unmap() => _ring.Dispose();

    [TestCaseSource(nameof(s_evilPositions))]
    public void Tail_ThatIsImpossible_IsDataAndCorruption(long tail)
    {
        _ring.Tail = tail;

        Assert.That(_ring.Reader.HasData);
        Assert.That(_ring.Reader.Arm(WakeMethods.Futex), Is.False);
        AssertCorruption("");
    }

    [Test]
    public void TryRead_OfATailThatMovedBack_IsCorruption()
    {
        _ring.Write([1]);
        _ring.Write([2]);
        _ring.Read();
        _ring.Read();

        _ring.Tail -= 16;

        AssertCorruption("tail");
    }

    [Test]
    public void TryRead_OfATailBeyondWhatWasWritten_MeetsZeros()
    {
        // Kind 0 is no frame: the frame reader refuses it. The ring only guarantees that reads stay inside.
        _ring.Tail = Capacity;
        int records = 0;

        while (_ring.Reader.TryRead(out RecordHeader header, out ReadOnlySpan<byte> payload))
        {
            Assert.That((header.Kind, payload.Length), Is.EqualTo(((byte)0, 0)));
            _ring.Reader.Release();
            records++;
        }

        Assert.That(records, Is.EqualTo(Capacity / 16));
    }

    [TestCaseSource(nameof(s_evilPositions))]
    public void PublishHead_WithImpossibleWordsOfThePeer_NeverThrows(long word)
    {
        _ring.Write([1]);
        _ring.Read();
        _ring.Tail = word;
        _ring.ParkedForSpace = word;

        Assert.That(() => _ring.Reader.PublishHead(), Throws.Nothing);
        Assert.That(_ring.Head, Is.EqualTo(32), "What this side says of itself stays right.");
    }

    [TestCaseSource(nameof(s_evilPositions))]
    public void Head_ThatIsImpossible_IsCorruptionToTheWriter(long head)
    {
        _ring.FillUp(isControl: true);
        _ring.Head = head;

        Assert.That(() => _ring.Writer.TryClaim(0, isControl: true, out _), Throws.TypeOf<RingCorruptedException>());
        Assert.That(() => _ring.Writer.ParkForSpace(WakeMethods.Futex), Throws.TypeOf<RingCorruptedException>());
    }

    [Test]
    public void TryClaim_WithAHeadBeyondWhatIsVisible_IsCorruption()
    {
        _ring.FillUp(isControl: true);
        _ring.Read();
        _ring.Reader.PublishHead();
        Assert.That(_ring.TryWrite([], isControl: true), "Not published.");
        _ring.Head = _ring.Tail + 16;

        Assert.That(() => _ring.Writer.TryClaim(0, isControl: true, out _), Throws.TypeOf<RingCorruptedException>());
    }

    [Test]
    public void TryClaim_WithAHeadThatMovedBack_IsCorruption()
    {
        _ring.FillUp(isControl: true);
        _ring.Read();
        _ring.Read();
        _ring.Reader.PublishHead();
        Assert.That(_ring.TryWrite([], isControl: true), "The head was seen.");
        _ring.FillUp(isControl: true);
        _ring.Head -= 16;

        Assert.That(() => _ring.Writer.TryClaim(64, isControl: true, out _), Throws.TypeOf<RingCorruptedException>());
    }

    [TestCaseSource(nameof(s_evilPositions))]
    public void Publish_WithAnyParkedWord_OnlyWakesOrDoesNot(long parked)
    {
        _ring.ParkedForData = parked;

        WakeMethods wakeMethods = _ring.Write([1]);

        Assert.That(wakeMethods, Is.EqualTo((WakeMethods)((parked & ~15L) < 32 ? parked & 3 : 0)));
    }

    [Test]
    public void TryRead_OfHeadersWithAnySingleByteChanged_StaysInsideOrIsCorruption()
    {
        byte[] image = MakeImage(out int[] headers, out long tail);
        int corrupted = 0;
        int read = 0;
        foreach (int header in headers)
        {
            for (int field = 0; field < RecordHeader.SizeBytes; field++)
            {
                for (int value = 0; value < 256; value++)
                {
                    image.CopyTo(_ring.Data);
                    _ring.Data[header + field] = (byte)value;
                    _ring.Tail = tail;
                    bool isCorrupted = _ring.MeetsCorruption(_ring.NewReader());
                    corrupted += isCorrupted ? 1 : 0;
                    read += isCorrupted ? 0 : 1;
                }
            }
        }

        Assert.That(corrupted, Is.GreaterThan(1000));
        Assert.That(read, Is.GreaterThan(1000));
    }

    [TestCase(0x7FFF_FFF0u)]
    [TestCase(0xFFFF_FFF0u)]
    [TestCase(0xFFFF_FFFFu)]
    [TestCase(0xFFFF_FFE1u)]
    [TestCase(Capacity)]
    [TestCase(Capacity - 15)]
    public void TryRead_OfAnImpossibleLength_IsCorruption(long length)
    {
        _ring.Write(new byte[32]);
        _ring.Write(new byte[32]);
        BitConverter.TryWriteBytes(_ring.Data, (uint)length);

        AssertCorruption("does not fit");
    }

    [Test]
    public void TryRead_OfARecordLargerThanTheLargest_IsCorruption()
    {
        _ring.Tail = Capacity;
        BitConverter.TryWriteBytes(_ring.Data, (uint)_ring.MaxPayloadBytes + 1);
        _ring.Data[4] = 1;

        AssertCorruption("larger than");
    }

    [TestCase(0)]
    [TestCase(Capacity - 64)]
    [TestCase(Capacity - 32 - 16)]
    public void TryRead_OfPaddingThatDoesNotEndAtTheEnd_IsCorruption(int length)
    {
        _ring.AdvanceTo(16);
        _ring.Tail += Capacity;
        BitConverter.TryWriteBytes(_ring.Data[16..], (uint)length);
        _ring.Data[16 + 4] = RecordHeader.PaddingKind;

        AssertCorruption("padding");
    }

    [Test]
    public void TryRead_OfRandomMemory_StaysInsideAndEnds()
    {
        Random random = TestSeed.NewRandom();
        int corrupted = 0;
        foreach (int _ in FuzzInputs.Numbers(UsualCount))
        {
            random.NextBytes(_ring.Data);
            if (random.Next(2) == 0)
            {
                MakePlausible(random);
            }

            _ring.Tail = random.Next((Capacity / 16) + 1) * 16L;
            corrupted += _ring.MeetsCorruption(_ring.NewReader()) ? 1 : 0;
        }

        int count = FuzzInputs.Count(UsualCount);
        Console.WriteLine($"{count} inputs, {corrupted} refused");
        Assert.That(corrupted, Is.InRange(1, count - 1), "Both outcomes are met.");
    }

    // Short lengths, so that the reader gets past the first header.
    private void MakePlausible(Random random)
    {
        for (int i = 0; i < Capacity; i += 16)
        {
            _ring.Data[i] = (byte)random.Next(40);
            _ring.Data[(i + 1)..(i + 4)].Clear();
        }
    }

    // Several records and padding, as a correct writer leaves them.
    private byte[] MakeImage(out int[] headers, out long tail)
    {
        using var ring = new RingPair(Capacity);
        int[] sizes = [0, 1, 15, 16, 17, 112, 31, 64, 100, 112, 112, 112];
        var starts = new List<int>();
        foreach (int size in sizes)
        {
            starts.Add((int)ring.Tail);
            ring.Write(new byte[size], isControl: true);
        }

        Assert.That(ring.Tail, Is.LessThan(Capacity));
        byte[] image = ring.Data.ToArray();
        int end = (int)ring.Tail;
        BitConverter.TryWriteBytes(image.AsSpan(end), (uint)(Capacity - end - 16));
        image[end + 4] = RecordHeader.PaddingKind;
        headers = [.. starts, end];
        tail = Capacity;
        return image;
    }

    private void AssertCorruption(string text) => Assert.That(
        () => _ring.Reader.TryRead(out _, out _), Throws.TypeOf<RingCorruptedException>().With.Message.Contains(text));
}
