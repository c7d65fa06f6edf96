using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.Topics;

/// <summary>
/// The word by which a client tells publishers that its event loop sleeps, and that a stream waits. Each time has a
/// number of its own, so that a publisher rings once for each. One thread at a time.
/// </summary>
internal sealed class TopicParking(SharedSegment own)
{
    private long _times;

    /// <summary>Asks publishers to ring. A full fence: the caller then looks at the tails once more.</summary>
    public void Arm()
    {
        // SYNC topic-parking: StoreLoad. Either a publisher sees the word after it stores its tail, or the caller sees
        // the tail.
        SharedMemoryOrder.WriteFenced(ref own.TopicParking, (++_times << 1) | 1);
    }

    /// <summary>Withdraws that.</summary>
    public void Disarm()
    {
        // SYNC topic-parking: a publisher that has read the old value rings once without need.
        SharedMemoryOrder.WriteRelease(ref own.TopicParking, _times << 1);
    }
}

/// <summary>The publishers' view of that word. Thread-safe, as far as it must be.</summary>
internal sealed class TopicDoorbell(SharedSegment peer)
{
    private long _rung; // the last value; publishers of several topics race for it, and may ring once each

    /// <summary>
    /// Returns whether the client must be rung. After a full fence behind the store of a tail. At most once for each
    /// time that the client asks, but for publishers of several topics at the same moment.
    /// </summary>
    public bool MustRing()
    {
        // SYNC topic-parking: read once. A client that lies is rung once for each publication, or not at all.
        long word = SharedMemoryOrder.ReadAcquire(ref peer.TopicParking);
        if ((word & 1) == 0 || word == _rung)
        {
            return false;
        }

        _rung = word;
        return true;
    }
}
