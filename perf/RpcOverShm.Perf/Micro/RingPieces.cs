using BenchmarkDotNet.Attributes;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Segments;

namespace RpcOverShm.Perf.Micro;

/// <summary>
/// A ring with both its sides on one thread: the cost of a record without the way between two caches.
/// </summary>
public class RingPieces
{
    private const int Capacity = 1 << 20;
    private readonly byte[] _payload = new byte[100];
    private readonly byte[] _large = new byte[32 << 10];
    private SharedSegment[] _segments = [];
    private RingWriter _writer = null!;
    private RingReader _reader = null!;

    [GlobalSetup]
    public void SetUp()
    {
        var producer = SharedSegment.Create(Capacity, Guid.NewGuid());
        var consumer = SharedSegment.Create(Capacity, Guid.NewGuid());
        _segments = [producer, consumer];
        _writer = new RingWriter(producer, consumer);
        _reader = new RingReader(consumer, producer);
    }

    /// <summary>Moves to the larger ring, as a connection does when a message needs more than one record.</summary>
    [GlobalSetup(Target = nameof(LargeRecord))]
    public void SetUpGrown()
    {
        SetUp();
        _writer.WantGrowth();
        if (_segments[0].TryAllocateSecond() is { } problem)
        {
            throw new InvalidOperationException(problem);
        }

        _writer.AllowMove();
        WriteAndRead(_payload);
    }

    [GlobalCleanup]
    public void CleanUp() => Array.ForEach(_segments, segment => segment.Dispose());

    [Benchmark(Description = "a record of 100 B: claim, copy in, publish, read, release")]
    public int SmallRecord() => WriteAndRead(_payload);

    [Benchmark(Description = "a record of 32 KiB, copied in and not out")]
    public int LargeRecord() => WriteAndRead(_large);

    [Benchmark(Description = "looking at an empty ring")]
    public bool Empty() => _reader.HasData;

    [Benchmark(Description = "going to park and coming back: arm, look again, disarm")]
    public bool ArmAndDisarm()
    {
        bool isArmed = _reader.Arm(WakeMethods.Futex);
        _reader.Disarm();
        return isArmed;
    }

    private int WriteAndRead(byte[] payload)
    {
        if (!_writer.TryClaim(payload.Length, isControl: false, out RingClaim claim))
        {
            throw new InvalidOperationException("The ring is full.");
        }

        payload.CopyTo(claim.Payload);
        _writer.Commit(claim, new RecordHeader((uint)payload.Length, (byte)FrameKind.Bytes, 0, 0, 0, 0));
        _writer.Publish();
        _reader.TryRead(out _, out ReadOnlySpan<byte> read);
        _reader.Release();
        return read.Length;
    }
}
