using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Streams;

/// <summary>
/// A duplex byte stream over one link. One read and one write may run at the same time, on any threads; a second read
/// or write fails. The user's stream refers to it, and so do reads and writes that wait; the event loop does not. So
/// the garbage collector finds it when its user has dropped it without a Dispose.
/// </summary>
internal sealed class DuplexBytes : Reclaimable
{
    private readonly PeerLink _link;
    private readonly ByteReceiver _receiver;
    private readonly ByteSender _sender;
    private readonly StreamSource? _source;
    private int _isReading;
    private int _isWriting;
    private int _isClosed;

    /// <summary>Takes ownership of the link and starts to watch it.</summary>
    public DuplexBytes(PeerLink link)
    {
        // The requests refer to the source and not to this object.
        StreamSource? source = null;
        _link = link;
        _receiver = new ByteReceiver(link, () => source!.Request());
        _sender = new ByteSender(link, () => source!.Request());
        _source = source = new StreamSource(link, _receiver, _sender);

        // On a close or the end of the peer, the loop completes what waits for it. Nothing is done before that: the
        // threads that tell of it, the event loops, must not wait for one that reads or writes.
        link.Start(source, source.Request);
    }

    /// <summary>Whether the stream was closed, or the peer has closed its end or is gone.</summary>
    public bool IsOver => _link.IsClosed || _link.IsPeerGone;

    public PeerIdentity Peer => _link.Identity;

    /// <summary>The number of lost wake-ups: a safety timeout found data. Any value but 0 is a defect.</summary>
    public long LostWakeups => _link.LostWakeups;

    public int Read(Span<byte> buffer)
    {
        Begin(ref _isReading, "read");
        try
        {
            return _receiver.Read(buffer);
        }
        finally
        {
            Volatile.Write(ref _isReading, 0);
        }
    }

    public ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken)
    {
        Begin(ref _isReading, "read");
        return ReadAloneAsync(buffer, cancellationToken);
    }

    public void Write(ReadOnlySpan<byte> bytes)
    {
        Begin(ref _isWriting, "write");
        try
        {
            _sender.Write(bytes);
        }
        finally
        {
            Volatile.Write(ref _isWriting, 0);
        }
    }

    public ValueTask WriteAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken)
    {
        Begin(ref _isWriting, "write");
        return WriteAloneAsync(bytes, cancellationToken);
    }

    /// <summary>
    /// Closes the stream. The peer reads the bytes written so far and then 0; pending reads and writes of this side
    /// fail, and this method waits until they have left the memory. Repeated calls have no effect.
    /// </summary>
    public void Close() => Close(new CloseReason(CloseKind.Local, "The stream was disposed."), endsBytes: true);

    /// <summary>
    /// Closes a stream that this side never used. The peer's reads and writes fail with the reason: an end of the bytes
    /// would look as if this side had read all of them. Repeated calls have no effect.
    /// </summary>
    public void Reject(RefusalReason reason, string text) =>
        Close(new CloseReason(CloseKind.Local, text) { Refusal = reason }, endsBytes: false);

    protected override void CloseDropped()
    {
        // Null if there was no memory to make the object.
        if (_source is not null && _isClosed == 0)
        {
            ShmLog.StreamDropped(_link.Logger, $"{Peer}");
            Close();
        }
    }

    private static void Begin(ref int isBusy, string what)
    {
        if (Interlocked.Exchange(ref isBusy, 1) != 0)
        {
            throw new InvalidOperationException($"The stream does one {what} at a time, and one is in progress.");
        }
    }

    private void Close(CloseReason reason, bool endsBytes)
    {
        if (Interlocked.Exchange(ref _isClosed, 1) != 0)
        {
            return;
        }

        MarkClosed();
        if (endsBytes)
        {
            _sender.End();
        }

        _link.Close(reason);
        _sender.Leave();
        _receiver.Leave();
        _source!.Loop?.Remove(_source);
    }

    private async ValueTask<int> ReadAloneAsync(Memory<byte> buffer, CancellationToken cancellationToken)
    {
        try
        {
            cancellationToken.ThrowIfCancellationRequested();
            return await _receiver.ReadAsync(buffer, cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            Volatile.Write(ref _isReading, 0);
        }
    }

    private async ValueTask WriteAloneAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken)
    {
        try
        {
            cancellationToken.ThrowIfCancellationRequested();
            await _sender.WriteAsync(bytes, cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            Volatile.Write(ref _isWriting, 0);
        }
    }
}
