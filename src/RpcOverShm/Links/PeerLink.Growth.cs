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
            ShmLog.RingNotGrown(
                _logger, ConnectionId, Identity.ToString(), _own.FirstCapacity, _own.SecondCapacity, problem);
        }
        else
        {
            Writer.AllowMove();
            RaiseLocalEvent();
        }

        Leave();
    }

    // The caller holds the gate of the writing side, so nothing is allocated here.
    private void BeginGrowth() => ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
}
