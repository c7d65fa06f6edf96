using RpcOverShm.Links;
using RpcOverShm.Streams;
using RpcOverShm.Systems;

namespace RpcOverShm;

/// <summary>A duplex byte stream between two processes of the same machine, over shared memory.</summary>
/// <remarks>
/// <para>
/// Replaces a connected pair of named pipe streams, without their system calls. A client gets a stream from
/// <see cref="ConnectAsync"/>, a server from a <see cref="ShmStreamListener"/>.
/// </para>
/// <para>
/// A read waits for at least one byte and returns the bytes that are available. After the last byte, it returns 0 if
/// the peer has disposed its stream, and throws <see cref="IOException"/> if the peer's process has died or its
/// listener does not take the stream. A write returns when its bytes are in the ring, and waits while the ring is full
/// of bytes that the peer has not read; it throws <see cref="IOException"/> if the peer is gone. The stream has no
/// other buffer, so <see cref="Flush"/> does nothing.
/// </para>
/// <para>
/// A synchronous read or write blocks its thread in a system call, as one on a socket does: the thread pool does not
/// learn of it, and <see cref="Thread.Interrupt"/> does not end it. Disposing the stream does.
/// </para>
/// <para>
/// One read and one write may run at the same time, on any threads; a second one of either throws
/// <see cref="InvalidOperationException"/>. The code that connects or accepts a stream disposes it; the peer can still
/// read what was written. A stream that was dropped instead is closed after a garbage collection, and logs a warning
/// then; a read or write that waits keeps it alive.
/// </para>
/// </remarks>
public sealed class ShmStream : Stream
{
    private readonly DuplexBytes _bytes;
    private volatile bool _isDisposed;

    internal ShmStream(PeerLink link) => _bytes = new DuplexBytes(link);

    /// <summary>
    /// Gets the id of the peer's process, as the kernel reported it when the stream was connected. The process may have
    /// ended, and its id may have been reused. It is 0 if the peer runs in a pid namespace that this process cannot
    /// see.
    /// </summary>
    public int PeerProcessId => _bytes.Peer.ProcessId;

    /// <summary>Gets whether the stream can be read; true until it is disposed.</summary>
    public override bool CanRead => !_isDisposed;

    /// <summary>Gets whether the stream can be written; true until it is disposed.</summary>
    public override bool CanWrite => !_isDisposed;

    /// <summary>Gets whether the stream can seek; always false.</summary>
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

    /// <summary>The implementation, for tests.</summary>
    internal DuplexBytes Inside => _bytes;

    /// <summary>Connects to a listener.</summary>
    /// <param name="address">
    /// <c>shm://name</c> or <c>shm:///path</c>, as for <see cref="ShmChannel.ForAddress"/>.
    /// </param>
    /// <param name="options">The settings; null for the defaults.</param>
    /// <param name="cancellationToken">Stops connecting.</param>
    /// <returns>The connected stream, which the caller disposes.</returns>
    /// <exception cref="ArgumentNullException">The address is null.</exception>
    /// <exception cref="ArgumentException">
    /// The address or an option is invalid; the message says what is allowed.
    /// </exception>
    /// <exception cref="ShmTransportException">
    /// No listener is at the address, a server of calls is there (<see cref="ShmTransportError.PurposeMismatch"/>), or
    /// the handshake failed.
    /// </exception>
    /// <exception cref="PlatformNotSupportedException">The system is not Linux.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public static Task<ShmStream> ConnectAsync(
        string address, ShmStreamOptions? options = null, CancellationToken cancellationToken = default)
    {
        options ??= new ShmStreamOptions();
        return ConnectToAsync(options.Connect.Parse(address), options.ToConnectionSettings(), cancellationToken);
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

    /// <summary>Does nothing, because the stream has no buffer: the peer can already read what was written.</summary>
    /// <exception cref="ObjectDisposedException">The stream was disposed.</exception>
    public override void Flush() => ThrowIfDisposed();

    /// <summary>Does nothing, because the stream has no buffer: the peer can already read what was written.</summary>
    /// <param name="cancellationToken">Checked once.</param>
    /// <returns>A completed task; a cancelled one if the token was cancelled.</returns>
    /// <exception cref="ObjectDisposedException">The stream was disposed.</exception>
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

    /// <summary>Ends the stream: the peer reads what was written, then 0.</summary>
    /// <param name="disposing">Always true, because the stream has no finalizer.</param>
    /// <remarks>Reads and writes that are in progress on this side fail.</remarks>
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
