using RpcOverShm.Diagnostics;

namespace RpcOverShm.Links;

/// <summary>
/// The growth of the ring that this side writes: a thread of the pool gives the second ring its memory, which takes
/// about a millisecond per megabyte. Meanwhile the writing side goes on in the first ring.
/// </summary>
internal sealed partial class PeerLink : IThreadPoolWorkItem
{
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
            RaiseLocalEvent();
            _source?.Request();
        }

        Leave();
    }

    // The caller holds the gate of the writing side, so nothing is allocated here.
    private void BeginGrowth() => ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
}
