using RpcOverShm.Rings;

namespace RpcOverShm.Connections;

/// <summary>
/// When the peer sees what was written, and who tells it so. Written records are published at once, but for those of
/// user code that runs inline between two records which came together: they are held, and published with what the next
/// ones bring. Owns the gate of the writing side; members under "by the gate's holder" are called with it.
/// </summary>
internal sealed class FramePublisher(PeerLink link, FrameWriter writer)
{
    private volatile bool _hasHeld; // records in the ring are not published, because their writer reads on first

    /// <summary>Held for copying into the ring, never for serialising, for user code or for a system call.</summary>
    public Lock Gate { get; } = new();

    /// <summary>True once the link is closed: nothing is written any more. By the gate's holder.</summary>
    public bool IsClosed { get; set; }

    /// <summary>By the gate's holder: makes everything visible. True when the peer must be woken afterwards.</summary>
    public bool Publish()
    {
        _hasHeld = false;
        return writer.Publish();
    }

    /// <summary>By the gate's holder, on an open link: the same, unless what was written is held.</summary>
    public bool PublishOrHold()
    {
        if (!InlineThread.IsHolderInUserCode(link) || !link.Reader.HasData)
        {
            return Publish();
        }

        // Whoever takes the role from this thread looks at the flag after that, and this thread at the role after the
        // flag.
        _hasHeld = true;
        Interlocked.MemoryBarrier();
        return !InlineThread.IsHolderInUserCode(link) && Publish();
    }

    /// <summary>
    /// Publishes what was held. By whoever has read all there is to read, takes the reader role anew, or has lost it.
    /// </summary>
    public void FlushHeld()
    {
        if (!_hasHeld)
        {
            return;
        }

        bool mustWake;
        lock (Gate)
        {
            mustWake = !IsClosed && Publish();
        }

        WakePeer(mustWake);
    }

    /// <summary>Not under the gate: a ring is a system call.</summary>
    public void WakePeer(bool mustWake)
    {
        if (mustWake && link.TryEnter())
        {
            link.WakePeerForData();
            link.Leave();
        }
    }

    /// <summary>The peer's head is impossible: that ends the link, and no exception leaves the writing side.</summary>
    public void CloseFor(RingCorruptedException exception) =>
        link.Close(new CloseReason(CloseCause.PeerViolation, exception.Message, exception));
}
