using RpcOverShm.Diagnostics;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// The growth of the ring that this side writes: a thread of the pool gives the second ring its memory, which takes
/// about a millisecond per megabyte. Meanwhile the writing side goes on in the first ring.
/// </summary>
internal sealed partial class PeerLink : IThreadPoolWorkItem
{
    /// <summary>
    /// The published bytes that the peer has not released, at most those of the ring; 0 after the end. For a metric:
    /// any thread may ask, and the peer may lie.
    /// </summary>
    public long UnreadBytes => UnreadOf(_own, _peer);

    /// <summary>The published bytes of the peer that this side has not released, likewise.</summary>
    public long UnreadIncomingBytes => UnreadOf(_peer, _own);

    void IThreadPoolWorkItem.Execute()
    {
        if (!TryEnter())
        {
            return;
        }

        if (_own.TryAllocateSecond() is { } problem)
        {
            (long first, long second) = (_own.FirstCapacity, _own.SecondCapacity);
            DeferredLog.Write(
                _logger,
                log => ShmLog.RingNotGrown(log, ConnectionId, Identity.ToString(), first, second, problem));
        }
        else
        {
            Writer.AllowMove();
            ProcessCounts.RingGrowths.Add();
            RaiseLocalEvent();
            _source?.Request();
        }

        Leave();
    }

    private long UnreadOf(SharedSegment writer, SharedSegment reader)
    {
        if (!TryEnter())
        {
            return 0;
        }

        // The head first: one that moves on meanwhile cannot pass the tail.
        uint head = new SharedWord(ref reader.Head).Read();
        uint unread = unchecked(new SharedWord(ref writer.Tail).Read() - head);
        long most = Math.Max(writer.FirstCapacity, writer.SecondCapacity);
        Leave();
        return Math.Min(unread, most);
    }

    // The caller holds the gate of the writing side, so nothing is allocated here.
    private void BeginGrowth() => PoolWork.Queue(this);
}
