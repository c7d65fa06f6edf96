using RpcOverShm.Links;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Sending;

/// <summary>
/// Owns the gate of the writing side, and decides when the peer sees what was written. Records are published at once,
/// with two exceptions: user code that runs inline between two records which came together, and the calls of a batch
/// behind its first. What they write is deferred until more has come together.
/// </summary>
internal sealed class FramePublisher(PeerLink link, ReaderRole role, FrameWriter writer)
{
    private readonly Lock _gate = new();
    private volatile bool _hasDeferred; // records in the ring are not published yet
    private bool _isClosed;

    /// <summary>
    /// Takes the gate. It is held for copying into the ring, never for serialising, for user code or for a system call.
    /// </summary>
    public Scope Enter()
    {
        _gate.Enter();
        return new Scope(this);
    }

    /// <summary>
    /// Publishes what was deferred. By a thread that has read all there is to read, has taken the reader role or has
    /// lost it, and by a batch that is complete.
    /// </summary>
    public void FlushDeferred()
    {
        if (_hasDeferred)
        {
            using Scope scope = Enter();
            scope.Publish();
        }
    }

    // By the gate's holder. True when the peer must be woken, once the gate is left.
    private bool PublishNow()
    {
        _hasDeferred = false;
        return writer.Publish();
    }

    // By the gate's holder.
    private bool DeferIfReadingOn()
    {
        if (!InlineThread.IsHolderInUserCode(role) || !link.Reader.HasData)
        {
            return PublishNow();
        }

        // A thread that takes the role from this one reads the flag afterwards, and this one reads the role after it
        // has set the flag.
        _hasDeferred = true;
        Interlocked.MemoryBarrier();
        return !InlineThread.IsHolderInUserCode(role) && PublishNow();
    }

    // By the gate's holder. A batch that is never sent leaves this to the next publication of anybody.
    private bool DeferForBatch()
    {
        _hasDeferred = true;
        return writer.TakeWakeUp();
    }

    /// <summary>
    /// One holding of the gate. At its end the records that were written are published or deferred, the gate is left,
    /// and then the peer is woken if it sleeps. An impossible head of the peer's closes the link.
    /// </summary>
    internal ref struct Scope(FramePublisher publisher) : IDisposable
    {
        private Publication _publication;

        /// <summary>True once the link is closed: nothing is written any more.</summary>
        public readonly bool IsClosed => publisher._isClosed;

        /// <summary>Publishes what was written.</summary>
        public void Publish() => _publication = Publication.Now;

        /// <summary>Publishes what was written, unless this thread reads on and may write more at once.</summary>
        public void PublishOrDefer() => _publication = Publication.UnlessReadingOn;

        /// <summary>Leaves what was written to a later publication, unless it is much.</summary>
        public void Defer() => _publication = Publication.WithBatch;

        /// <summary>Nothing is written from here on.</summary>
        public readonly void Close() => publisher._isClosed = true;

        public readonly void Dispose()
        {
            bool mustWake = false;
            try
            {
                if (!publisher._isClosed)
                {
                    mustWake = _publication switch
                    {
                        Publication.Now => publisher.PublishNow(),
                        Publication.UnlessReadingOn => publisher.DeferIfReadingOn(),
                        Publication.WithBatch => publisher.DeferForBatch(),
                        _ => false,
                    };
                }
            }
            finally
            {
                publisher._gate.Exit();
            }

            publisher.OnLeft(mustWake);
        }
    }

    private enum Publication
    {
        None,
        Now,
        UnlessReadingOn,
        WithBatch,
    }

    // Not under the gate: a wake-up is a system call, and closing the link logs.
    private void OnLeft(bool mustWake)
    {
        if (mustWake && link.TryEnter())
        {
            link.WakePeerForData();
            link.Leave();
        }

        if (writer.Corruption is { } corruption)
        {
            link.Close(new CloseReason(CloseKind.PeerViolation, corruption.Message, corruption));
        }
    }
}
