using RpcOverShm.Rings;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Segments;

namespace RpcOverShm.Tests.Rings;

/// <summary>
/// Both sides of one ring in this process, each with its own mappings as in two processes. Small rings wrap and fill
/// after a few records. All words are writable, so that a test can play the hostile side of either.
/// </summary>
internal sealed unsafe class RingPair : IDisposable
{
    private readonly MappedSegment _producer;
    private readonly MappedSegment _consumer;

    public RingPair(long capacity)
    {
        Capacity = capacity;
        _producer = new MappedSegment(capacity);
        _consumer = new MappedSegment(capacity);
        Writer = new RingWriter(_producer.Own, _consumer.View) { OnGrowthWanted = () => GrowthsWanted++ };
        Reader = NewReader();
    }

    public long Capacity { get; }

    /// <summary>The number of times that the writer asked for its second ring.</summary>
    public int GrowthsWanted { get; private set; }

    /// <summary>The segment of the writer as both sides map it.</summary>
    public MappedSegment Producer => _producer;

    public int MaxPayloadBytes => RingLimits.MaxPayloadBytes(Capacity);

    public RingWriter Writer { get; }

    public RingReader Reader { get; }

    /// <summary>The ring's data in the writable mapping of its owner.</summary>
    public Span<byte> Data => new(_producer.Own.Data, (int)Capacity);

    public ref long Tail => ref _producer.Own.Tail;

    public ref long ParkedForSpace => ref _producer.Own.ParkedForSpace;

    public ref long Head => ref _consumer.Own.Head;

    public ref long ParkedForData => ref _consumer.Own.ParkedForData;

    /// <summary>The word that the reader sleeps on, in the reader's mapping.</summary>
    public SharedWord TailAsSeen => new(ref _producer.View.Tail);

    /// <summary>The word that the writer sleeps on, in the writer's mapping.</summary>
    public SharedWord HeadAsSeen => new(ref _consumer.View.Head);

    /// <summary>Returns another reader of the same ring, at position 0.</summary>
    public RingReader NewReader() => new(_consumer.Own, _producer.View);

    /// <summary>Claims, fills and commits one record without publishing it.</summary>
    public bool TryWrite(ReadOnlySpan<byte> payload, byte kind = 1, bool isControl = false)
    {
        if (!Writer.TryClaim(payload.Length, isControl, out RingClaim claim))
        {
            return false;
        }

        payload.CopyTo(claim.Payload);
        Writer.Commit(claim, new RecordHeader((uint)payload.Length, kind, 0, 0, 0, 0));
        return true;
    }

    /// <summary>Writes one record, which must fit, and publishes it. Returns how the reader must be woken.</summary>
    public WakeMethods Write(ReadOnlySpan<byte> payload, byte kind = 1, bool isControl = false)
    {
        Assert.That(TryWrite(payload, kind, isControl), "There is room.");
        return Writer.Publish();
    }

    /// <summary>Writes records of this size until there is no room for another, and publishes them.</summary>
    public int FillUp(int payloadBytes = 0, byte kind = 1, bool isControl = false)
    {
        int records = 0;
        while (TryWrite(new byte[payloadBytes], kind, isControl))
        {
            records++;
        }

        Writer.Publish();
        return records;
    }

    /// <summary>Reads one record, which must be there, and releases it.</summary>
    public byte[] Read() => Read(out _);

    /// <summary>Reads one record, which must be there, and releases it.</summary>
    public byte[] Read(out WakeMethods wakeMethods)
    {
        Assert.That(Reader.TryRead(out _, out ReadOnlySpan<byte> payload), "There is a record.");
        byte[] bytes = payload.ToArray();
        wakeMethods = Reader.Release();
        return bytes;
    }

    /// <summary>Reads records until one wakes the writer; returns their number.</summary>
    public int ReadUntilWake()
    {
        for (int records = 1; ; records++)
        {
            Read(out WakeMethods wakeMethods);
            if (wakeMethods != WakeMethods.None)
            {
                return records;
            }
        }
    }

    /// <summary>Reads all records; returns how many of them wake the writer.</summary>
    public int Drain()
    {
        int wakes = 0;
        while (Reader.HasData)
        {
            Read(out WakeMethods wakeMethods);
            wakes += wakeMethods != WakeMethods.None ? 1 : 0;
        }

        return wakes;
    }

    /// <summary>
    /// Reads all records, which may be corrupted; returns whether the reader noticed. What it reads must lie inside the
    /// ring.
    /// </summary>
    public bool MeetsCorruption(RingReader reader)
    {
        try
        {
            for (long records = 0; reader.TryRead(out _, out ReadOnlySpan<byte> payload); records++)
            {
                AssertInside(payload);
                Assert.That(reader.Current == payload, "The same bytes.");
                Assert.That(records, Is.LessThan(Capacity / RecordHeader.SizeBytes), "Each has a header.");
                reader.Release();
            }

            return false;
        }
        catch (RingCorruptedException)
        {
            return true;
        }
    }

    /// <summary>Advances both sides to the position, with an empty ring and the head published.</summary>
    public void AdvanceTo(long position)
    {
        while (Reader.Position < position)
        {
            long step = Math.Min(position - Reader.Position, RecordHeader.RecordLength(MaxPayloadBytes));
            step = Math.Min(step, Capacity - (Reader.Position & (Capacity - 1)));
            Assert.That(Writer.TryClaim((int)step - RecordHeader.SizeBytes, isControl: true, out RingClaim claim));
            Writer.Commit(claim, new RecordHeader((uint)claim.Payload.Length, 1, 0, 0, 0, 0));
            Writer.Publish();
            Assert.That(Reader.TryRead(out _, out _));
            Reader.Release();
            Reader.PublishHead();
        }
    }

    public void Dispose()
    {
        _producer.Dispose();
        _consumer.Dispose();
    }

    private void AssertInside(ReadOnlySpan<byte> payload)
    {
        fixed (byte* start = payload)
        {
            nint offset = (nint)start - (nint)_producer.View.Data;
            if (payload.Length > 0 && (offset < 0 || offset + payload.Length > Capacity))
            {
                Assert.Fail($"A payload of {payload.Length} bytes at {offset}.");
            }
        }
    }
}
