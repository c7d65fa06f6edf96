using RpcOverShm.Rings;

namespace RpcOverShm.Tests.Rings;

/// <summary>Two threads on one ring at full speed; every byte of every record is checked.</summary>
public class RingStressTests
{
    [TestCase(256, 1_000_000)]
    [TestCase(4096, 2_000_000)]
    [TestCase(64 << 10, 1_000_000)]
    public void Records_FromOneThreadToAnother_ArriveInOrderAndIntact(int capacity, int records)
    {
        using var ring = new RingPair(capacity);
        int seed = TestSeed.Next();
        int largest = Math.Min(ring.MaxPayloadBytes, 200);

        TestThread producer = TestThread.Start("producer", () => Produce(ring, new Random(seed), records, largest));
        TestThread consumer = TestThread.Start("consumer", () => Consume(ring, new Random(seed), records, largest));

        producer.Join();
        consumer.Join();
        Assert.That(ring.Reader.HasData, Is.False);
        Assert.That(ring.Reader.Position, Is.EqualTo(ring.Tail));
    }

    [Test]
    public void Records_WhileTheirMemoryIsScribbledOver_StayInsideOrAreCorruption()
    {
        // The peer changes a header after the reader's check (TOCTOU): the reader must only use the value that it
        // checked.
        const int Capacity = 1024;
        using var ring = new RingPair(Capacity);
        var stop = new ManualResetEventSlim();
        int seed = TestSeed.Next();
        TestThread scribbler = TestThread.Start("scribbler", () => Scribble(ring, new Random(seed), stop));

        int corrupted = 0;
        for (int i = 0; i < 50_000; i++)
        {
            corrupted += ring.MeetsCorruption(ring.NewReader()) ? 1 : 0;
        }

        stop.Set();
        scribbler.Join();
        TestContext.Out.WriteLine($"{corrupted} of 50000 readers met corruption.");
    }

    private static void Produce(RingPair ring, Random random, int records, int largest)
    {
        byte[] payload = new byte[largest];
        for (int i = 0; i < records; i++)
        {
            Span<byte> bytes = payload.AsSpan(0, random.Next(largest + 1));
            Fill(bytes, i);
            while (!ring.TryWrite(bytes, (byte)(i % 200)))
            {
                ring.Writer.Publish();
                Thread.Yield();
            }

            // Sometimes several records per publish.
            if ((i & 7) != 3)
            {
                ring.Writer.Publish();
            }
        }

        ring.Writer.Publish();
    }

    private static void Consume(RingPair ring, Random random, int records, int largest)
    {
        byte[] expected = new byte[largest];
        for (int i = 0; i < records; i++)
        {
            RecordHeader header;
            ReadOnlySpan<byte> payload;
            while (!ring.Reader.TryRead(out header, out payload))
            {
                // With nothing to read the published head must be exact, or both threads could wait for each other.
                ring.Reader.PublishHead();
                Thread.Yield();
            }

            Span<byte> bytes = expected.AsSpan(0, random.Next(largest + 1));
            Fill(bytes, i);
            if (header.Kind != (byte)(i % 200) || !payload.SequenceEqual(bytes))
            {
                Assert.Fail($"Record {i} of {payload.Length} bytes is not what was written.");
            }

            ring.Reader.Release();
        }
    }

    private static void Fill(Span<byte> bytes, int record)
    {
        for (int i = 0; i < bytes.Length; i++)
        {
            bytes[i] = (byte)((record * 31) + i);
        }
    }

    private static void Scribble(RingPair ring, Random random, ManualResetEventSlim stop)
    {
        ring.Tail = 1024;
        while (!stop.IsSet)
        {
            int header = random.Next(64) * 16;
            ring.Data[header] = (byte)random.Next(random.Next(16) == 0 ? 256 : 100);
            ring.Data[header + 4] = random.Next(64) == 0 ? RecordHeader.PaddingKind : (byte)1;
            ring.Data[header + random.Next(16)] = (byte)(random.Next(256) == 0 ? random.Next(256) : 0);
        }
    }
}
