using Grpc.Core;

namespace RpcOverShm.Buffers;

/// <summary>
/// Memory of the peer that holds the next messages of a stream, which its reader copies when it wants them. One reader;
/// any thread may dispose it.
/// </summary>
internal abstract class MessageSource : IDisposable
{
    /// <summary>Whether there is a message, or an end or a failure to see.</summary>
    public abstract bool HasNext { get; }

    /// <summary>Whether all messages up to its end were taken.</summary>
    public abstract bool IsAtEnd { get; }

    /// <summary>The status that ends the call, because messages are gone; null for none.</summary>
    public abstract Status? Failure { get; }

    /// <summary>The messages that were left out because the reader was too slow.</summary>
    public abstract long Skipped { get; }

    /// <summary>Copies the next message. Returns false if there is none now, at its end, or after a failure.</summary>
    /// <param name="maxBytes">The largest message; a larger one is a failure. Null for no limit.</param>
    /// <param name="hint">Tells what array the message gets.</param>
    /// <param name="message">The copy, which the caller releases.</param>
    public abstract bool TryTake(long? maxBytes, PayloadAccessHint hint, out ReceivedMessage message);

    /// <summary>
    /// Asks for one call of <see cref="IMessageWaiter.OnMessages"/> when there is something to see. Returns false if
    /// there is now: it is not called then.
    /// </summary>
    public abstract bool TryWait(IMessageWaiter waiter);

    /// <summary>Ends it at a position, which the peer has told.</summary>
    public abstract void EndAt(long position);

    public abstract void Dispose();
}

/// <summary>Waits for messages of a source.</summary>
internal interface IMessageWaiter
{
    /// <summary>There is something to see. Called on the event loop; must neither wait nor throw.</summary>
    void OnMessages();
}
