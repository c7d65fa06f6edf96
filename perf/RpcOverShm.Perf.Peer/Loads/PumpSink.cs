using System.Buffers;

namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>
/// Takes the messages of a pump: checks each, and takes the time of every group of them. A receiver reads many messages
/// at once and then has them one after another, so that only the time of more than a full buffer is that of the arm.
/// One thread at a time.
/// </summary>
internal sealed class PumpSink(LoadOrder order)
{
    // Several times the buffer of a socket, and as much as a ring holds.
    private const int GroupBytes = 1 << 20;
    private const int SmallestGroup = 16;

    private readonly int _sizeBytes = order.SizeBytes;
    private readonly int _group = order.Group;
    private readonly long _leadIn = order.LeadInMessages;
    private long _firstTick;
    private long _lastTick;
    private ResourceSample _usedBefore;

    public LatencyHistogram Times { get; } = new();

    /// <summary>Messages so far, those before the clock started included.</summary>
    public long Taken { get; private set; }

    public long WrongBytes { get; private set; }

    /// <summary>
    /// The number of messages of all clients together for each reading of the clock; their mean is recorded for each.
    /// </summary>
    public static int GroupOf(int sizeBytes, int clients = 1) =>
        Math.Max(SmallestGroup, GroupBytes / clients / Math.Max(1, sizeBytes));

    /// <summary>Checks a message, and counts it.</summary>
    public void Take(ReadOnlySpan<byte> payload)
    {
        WrongBytes += PayloadPattern.CountWrong(payload, Taken, _sizeBytes);
        CountUnchecked();
    }

    /// <inheritdoc cref="Take(ReadOnlySpan{byte})"/>
    public void Take(in ReadOnlySequence<byte> payload)
    {
        WrongBytes += PayloadPattern.CountWrong(payload, Taken, _sizeBytes);
        CountUnchecked();
    }

    /// <summary>Counts a message without bytes to check, which shows only the speed of the machine.</summary>
    public void CountUnchecked()
    {
        long measured = ++Taken - _leadIn;
        if (measured > 0)
        {
            if (measured % _group == 0)
            {
                RecordGroup();
            }
        }
        else if (measured == 0)
        {
            _usedBefore = ResourceSample.Take();
            _firstTick = _lastTick = Stopwatch.GetTimestamp();
        }
    }

    public LoadResult Finish() => new()
    {
        All = Taken,
        FirstTick = _firstTick,
        ElapsedTicks = _lastTick - _firstTick,
        WrongBytes = WrongBytes,
        Used = ResourceSample.Take() - _usedBefore,
        Times = Times,
    };

    private void RecordGroup()
    {
        long now = Stopwatch.GetTimestamp();
        Times.Record((now - _lastTick) / _group, _group);
        _lastTick = now;
    }
}
