using RpcOverShm.Links;
using RpcOverShm.Streams;

namespace RpcOverShm;

/// <summary>
/// A duplex stream of bytes between two processes of this machine, over shared memory: what a connected pair of
/// named pipe streams is, without the system calls. A client has it from <see cref="ConnectAsync"/>, a server
/// from a <see cref="ShmStreamListener"/>.
/// <para>
/// Reading returns what is there, after waiting for at least one byte; 0 when the peer has disposed its stream and all
/// that it wrote was read; an <see cref="IOException"/> when the peer's process has died, after all that it wrote was
/// read. Writing returns when the bytes are in the ring, and waits while the peer has left a ring's worth unread;
/// an <see cref="IOException"/> when the peer is gone. One read and one write may be under way at a time. Nothing is
/// buffered: <see cref="Flush"/> does nothing. Disposing lets the peer read what was written.
/// </para>
/// </summary>
public sealed class ShmStream : Stream
{
    private readonly DuplexBytes _bytes;
    private volatile bool _isDisposed;

    internal ShmStream(PeerLink link) => _bytes = new DuplexBytes(link);

    /// <summary>The process on the other side, as the kernel named it when the stream was connected.</summary>
    public int PeerProcessId => _bytes.Peer.ProcessId;

    /// <summary>True until the stream is disposed.</summary>
    public override bool CanRead => !_isDisposed;

    /// <summary>True until the stream is disposed.</summary>
    public override bool CanWrite => !_isDisposed;

    /// <summary>Always false.</summary>
    public override bool CanSeek => false;

    /// <summary>Not supported.</summary>
    /// <exception cref="NotSupportedException">Always.</exception>
    public override long Length => throw NoPosition();

    /// <summary>Not supported.</summary>
    /// <exception cref="NotSupportedException">Always.</exception>
    public override long Position
    {
        get => throw NoPosition();
        set => throw NoPosition();
    }

    /// <summary>The inside, for tests.</summary>
    internal DuplexBytes Inside => _bytes;

    /// <summary>Connects to a listener.</summary>
    /// <param name="address">
    /// <c>shm://name</c> or <c>shm:///path</c>, as for <see cref="ShmChannel.ForAddress"/>.
    /// </param>
    /// <param name="options">Settings; null for the defaults.</param>
    /// <param name="cancellationToken">Gives up connecting.</param>
    /// <returns>The connected stream, which the caller disposes.</returns>
    /// <exception cref="ArgumentException">
    /// The address or an option is not allowed; the message says what is.
    /// </exception>
    /// <exception cref="ShmTransportException">
    /// Nobody listens there, it is a server of calls (<see cref="ShmTransportError.PurposeMismatch"/>),
    /// or the handshake failed.
    /// </exception>
    /// <exception cref="PlatformNotSupportedException">This system is not Linux.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public static Task<ShmStream> ConnectAsync(
        string address, ShmStreamOptions? options = null, CancellationToken cancellationToken = default)
    {
        options ??= new ShmStreamOptions();
        var rendezvous = RendezvousAddress.Parse(address, options.RuntimeDirectory);
        return ConnectToAsync(rendezvous, OptionChecks.Stream<ShmStream>(options), cancellationToken);
    }

    /// <inheritdoc/>
    public override int Read(byte[] buffer, int offset, int count)
    {
        ValidateBufferArguments(buffer, offset, count);
        return Read(buffer.AsSpan(offset, count));
    }

    /// <inheritdoc/>
    public override int Read(Span<byte> buffer)
    {
        ThrowIfDisposed();
        return _bytes.Read(buffer);
    }

    /// <inheritdoc/>
    public override int ReadByte()
    {
        Span<byte> one = stackalloc byte[1];
        return Read(one) == 0 ? -1 : one[0];
    }

    /// <inheritdoc/>
    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken)
    {
        ValidateBufferArguments(buffer, offset, count);
        return ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();
    }

    /// <inheritdoc/>
    public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        ThrowIfDisposed();
        return cancellationToken.IsCancellationRequested
            ? ValueTask.FromCanceled<int>(cancellationToken)
            : _bytes.ReadAsync(buffer, cancellationToken);
    }

    /// <inheritdoc/>
    public override void Write(byte[] buffer, int offset, int count)
    {
        ValidateBufferArguments(buffer, offset, count);
        Write(buffer.AsSpan(offset, count));
    }

    /// <inheritdoc/>
    public override void Write(ReadOnlySpan<byte> buffer)
    {
        ThrowIfDisposed();
        _bytes.Write(buffer);
    }

    /// <inheritdoc/>
    public override void WriteByte(byte value) => Write([value]);

    /// <inheritdoc/>
    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken)
    {
        ValidateBufferArguments(buffer, offset, count);
        return WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();
    }

    /// <inheritdoc/>
    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        ThrowIfDisposed();
        return cancellationToken.IsCancellationRequested
            ? ValueTask.FromCanceled(cancellationToken)
            : _bytes.WriteAsync(buffer, cancellationToken);
    }

    /// <summary>Does nothing: what was written is with the peer.</summary>
    public override void Flush() => ThrowIfDisposed();

    /// <summary>Does nothing: what was written is with the peer.</summary>
    /// <param name="cancellationToken">Looked at once.</param>
    public override Task FlushAsync(CancellationToken cancellationToken)
    {
        ThrowIfDisposed();
        return cancellationToken.IsCancellationRequested ? Task.FromCanceled(cancellationToken) : Task.CompletedTask;
    }

    /// <summary>Not supported.</summary>
    /// <param name="offset">Not used.</param>
    /// <param name="origin">Not used.</param>
    /// <exception cref="NotSupportedException">Always.</exception>
    public override long Seek(long offset, SeekOrigin origin) => throw NoPosition();

    /// <summary>Not supported.</summary>
    /// <param name="value">Not used.</param>
    /// <exception cref="NotSupportedException">Always.</exception>
    public override void SetLength(long value) => throw NoPosition();

    /// <summary>
    /// Ends the stream; the peer reads what was written, then 0. Reads and writes under way here fail.
    /// </summary>
    /// <param name="disposing">Always true: the stream has no finalizer.</param>
    protected override void Dispose(bool disposing)
    {
        _isDisposed = true;
        _bytes.Close();
        base.Dispose(disposing);
    }

    private static async Task<ShmStream> ConnectToAsync(
        RendezvousAddress address, ConnectionSettings settings, CancellationToken cancellationToken)
    {
        try
        {
            return new ShmStream(
                await ClientHandshake.ConnectAsync(address, settings, cancellationToken).ConfigureAwait(false));
        }
        catch (ConnectException exception)
        {
            throw new ShmTransportException(exception);
        }
    }

    private static NotSupportedException NoPosition() => new("A duplex stream has no length and no position.");

    private void ThrowIfDisposed() => ObjectDisposedException.ThrowIf(_isDisposed, this);
}
