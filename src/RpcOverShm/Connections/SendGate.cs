using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// Owns the gate of the writing side and decides when written records become visible to the peer. Records are published
/// at once, with two exceptions. User code that runs inline while more records are ready defers its publishes, up to 16
/// frames or about 20 µs. A batch defers those of all calls but its first, until it ends or has 4 KiB. Every publish is
/// followed by the wake-up that the peer needs.
/// </summary>
internal sealed class SendGate(PeerLink link, ReaderRole role, FrameWriter writer)
{
    // More frames would keep the peer waiting for longer than a wake-up takes.
    private const int MaxDeferredFrames = 16;

    private readonly UninterruptibleLock _lock = new();
    private volatile bool _hasDeferred; // the ring contains deferred, unpublished records
    private int _deferredFrames;        // since the last publish; guarded by the gate
    private bool _isClosed;
    private bool _isRetired; // implied by _isClosed

    /// <summary>Whether records are in the ring whose publish was deferred. A hint outside the gate.</summary>
    public bool HasDeferred => _hasDeferred;

    /// <summary>Enters the gate; see <see cref="FrameSender"/> for what may happen inside.</summary>
    public Scope Enter()
    {
        _lock.Take();
        return new Scope(this);
    }

    /// <summary>
    /// Publishes deferred records. Called when all available records were read, when a thread has taken the reader role
    /// or an event loop, and at the end of a batch.
    /// </summary>
    public void FlushDeferred()
    {
        if (_hasDeferred)
        {
            using Scope scope = Enter();
            scope.PublishOnExit();
        }
    }

    // The caller holds the gate. Returns how the peer must be woken after leaving the gate.
    private WakeMethods PublishNow()
    {
        _hasDeferred = false;
        _deferredFrames = 0;
        return writer.Publish();
    }

    // The caller holds the gate.
    private WakeMethods DeferIfMoreToRead()
    {
        if (!LoopThread.MayDeferFor(role) || !link.Reader.HasData || ++_deferredFrames >= MaxDeferredFrames)
        {
            return PublishNow();
        }

        // StoreLoad: this thread sets the flag and then checks that it has its loop; a thread that takes the loop over
        // reads the flag afterwards. So at least one of them publishes.
        _hasDeferred = true;
        Interlocked.MemoryBarrier();
        return LoopThread.MayDeferFor(role) ? writer.TakeWakeUp() : PublishNow();
    }

    // The caller holds the gate.
    private List<ConnectionCall>? TakeCallsToQueue() => writer.TakeCallsToQueue();

    // The caller holds the gate. If the batch is never flushed, the next publish by any thread covers its records.
    private WakeMethods DeferForBatch()
    {
        _hasDeferred = true;
        return writer.TakeWakeUp();
    }

    /// <summary>
    /// One holding of the gate. Disposing it publishes or defers the written records, leaves the gate, and then wakes
    /// the peer if it sleeps. If the peer's head is invalid, it also closes the link.
    /// </summary>
    internal ref struct Scope(SendGate gate) : IDisposable
    {
        private Publication _publication;

        /// <summary>Whether the writing side is closed: nothing more may be written.</summary>
        public readonly bool IsClosed => gate._isClosed;

        /// <summary>Whether no outgoing call may start any more; always true once the writing side is closed.</summary>
        public readonly bool IsRetired => gate._isRetired;

        /// <summary>Requests to publish the written records.</summary>
        public void PublishOnExit() => _publication = Publication.Now;

        /// <summary>Requests to publish the written records, unless this thread reads on and may write more.</summary>
        public void PublishOrDeferOnExit() => _publication = Publication.UnlessMoreToRead;

        /// <summary>Requests to defer the publish. The writer may already have published many bytes early.</summary>
        public void DeferOnExit() => _publication = Publication.WithBatch;

        /// <summary>Lets no outgoing call start any more; frames of other calls are still written.</summary>
        public readonly void Retire() => gate._isRetired = true;

        /// <summary>Closes the writing side.</summary>
        public readonly void Close()
        {
            gate._isRetired = true;
            gate._isClosed = true;
        }

        public readonly void Dispose()
        {
            WakeMethods wakeMethods = WakeMethods.None;
            List<ConnectionCall>? toQueue;
            try
            {
                if (!gate._isClosed)
                {
                    wakeMethods = _publication switch
                    {
                        Publication.Now => gate.PublishNow(),
                        Publication.UnlessMoreToRead => gate.DeferIfMoreToRead(),
                        Publication.WithBatch => gate.DeferForBatch(),
                        _ => WakeMethods.None,
                    };
                }
            }
            finally
            {
                toQueue = gate.TakeCallsToQueue();
                gate._lock.Exit();
            }

            gate.WakePeerOrClose(wakeMethods);
            toQueue?.ForEach(static call => call.QueueUserCode());
        }
    }

    private enum Publication
    {
        None,
        Now,
        UnlessMoreToRead,
        WithBatch,
    }

    // Outside the gate: a wake-up is a system call, and closing the link makes several.
    private void WakePeerOrClose(WakeMethods wakeMethods)
    {
        if (wakeMethods != WakeMethods.None)
        {
            link.WakePeerForData(wakeMethods);
        }

        if (writer.Corruption is { } corruption)
        {
            link.CloseForViolation(corruption);
        }
    }
}
