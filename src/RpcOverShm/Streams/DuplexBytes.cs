using RpcOverShm.Links;

namespace RpcOverShm.Streams;

/// <summary>
/// One duplex stream of bytes over one link: a receiver and a sender, of which each does one thing at a time, and one
/// end. A read and a write may run at the same time, from any threads.
/// </summary>
internal sealed class DuplexBytes
{
    private readonly PeerLink _link;
    private readonly ByteReceiver _receiver;
    private readonly ByteSender _sender;
    private int _isReading;
    private int _isWriting;
    private int _isClosed;

    /// <summary>Takes the link over and starts to watch it.</summary>
    public DuplexBytes(PeerLink link)
    {
        _link = link;
        _receiver = new ByteReceiver(link);
        _sender = new ByteSender(link);
        link.Start(_sender.OnLinkEvent);
    }

    public PeerIdentity Peer => _link.Identity;

    /// <summary>How often a time-out, and not a ring, found data. Anything but 0 is a lost wake-up.</summary>
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
        ValueTask<int> read;
        try
        {
            cancellationToken.ThrowIfCancellationRequested();
            read = _receiver.ReadAsync(buffer, cancellationToken);
        }
        catch
        {
            Volatile.Write(ref _isReading, 0);
            throw;
        }

        if (!read.IsCompletedSuccessfully)
        {
            return EndReadAsync(read);
        }

        Volatile.Write(ref _isReading, 0);
        return read;
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
        ValueTask write;
        try
        {
            cancellationToken.ThrowIfCancellationRequested();
            write = _sender.WriteAsync(bytes, cancellationToken);
        }
        catch
        {
            Volatile.Write(ref _isWriting, 0);
            throw;
        }

        if (!write.IsCompletedSuccessfully)
        {
            return EndWriteAsync(write);
        }

        Volatile.Write(ref _isWriting, 0);
        return write;
    }

    /// <summary>
    /// Ends the stream: the peer reads what was written and then 0. Reads and writes that wait here fail. Waits until
    /// they have left the memory. Later calls do nothing.
    /// </summary>
    public void Close()
    {
        if (Interlocked.Exchange(ref _isClosed, 1) != 0)
        {
            return;
        }

        _sender.End();
        _link.Close(new CloseReason(CloseKind.Local, "The stream was disposed."));
        _sender.Leave();
        _receiver.Leave();
    }

    private static void Begin(ref int isBusy, string what)
    {
        if (Interlocked.Exchange(ref isBusy, 1) != 0)
        {
            throw new InvalidOperationException($"The stream does one {what} at a time, and one is in progress.");
        }
    }

    private async ValueTask<int> EndReadAsync(ValueTask<int> read)
    {
        try
        {
            return await read.ConfigureAwait(false);
        }
        finally
        {
            Volatile.Write(ref _isReading, 0);
        }
    }

    private async ValueTask EndWriteAsync(ValueTask write)
    {
        try
        {
            await write.ConfigureAwait(false);
        }
        finally
        {
            Volatile.Write(ref _isWriting, 0);
        }
    }
}
