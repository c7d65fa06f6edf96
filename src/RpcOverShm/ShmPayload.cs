using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;
using RpcOverShm.Loans;

namespace RpcOverShm;

/// <summary>A message of raw bytes in pooled memory, for proxies, routers and files.</summary>
/// <remarks>
/// <para>
/// Methods with this message type use <see cref="Marshaller"/>. Alone, it forwards messages of generated marshallers;
/// with <see cref="ShmRawCodec"/>, raw bytes or those of another codec. A received payload is copied once, out of the
/// ring, and once more if it is decompressed. None of its arrays is a large object (85,000 bytes). A rented payload
/// (<see cref="ShmChannel.RentPayload"/>) may not be copied at all: see <see cref="ShmLoanOptions"/>.
/// </para>
/// <para>
/// The receiver owns a payload, may keep it, and disposes it; <see cref="Bytes"/> must not be used after that. If the
/// receiver never disposes it, the pool loses its arrays and nothing else happens. A payload that the sender has lent
/// is to be disposed: its sender cannot use the memory again before that. It stays readable after the connection has
/// ended. A span of its memory must not be used after the disposal: the process may end by that. A span alone does not
/// keep the payload from the garbage collector.
/// </para>
/// <para>
/// The caller keeps ownership of a request. It disposes the request when the call has ended, because a call that a
/// stopping server refused is serialised again (transparent retry). The writer of a stream, on either side, disposes a
/// message when its write has completed. The server disposes the payload that a method returns, so each call must
/// return its own payload, even if <see cref="Wrap(ReadOnlyMemory{byte})"/> creates them from the same bytes.
/// </para>
/// <para>
/// Not thread-safe: if one thread disposes a payload while another reads it, the reader sees the bytes of another
/// message.
/// </para>
/// </remarks>
public sealed class ShmPayload : IDisposable, IPooledMessage
{
    private readonly SharedPiece? _piece;      // of a rented payload that can be lent
    private readonly Memory<byte> _memory;     // of a rented payload
    private ReceivedMessage _owned;            // empty if the bytes were wrapped, or are those of the piece
    private ReadOnlySequence<byte> _bytes;
    private bool _isSent;
    private bool _isDisposed;

    private ShmPayload(ReceivedMessage bytes)
    {
        _bytes = bytes.AsSequence();
        _owned = bytes;
    }

    private ShmPayload(in ReadOnlySequence<byte> bytes) => _bytes = bytes;

    private ShmPayload(ReceivedMessage bytes, Memory<byte> memory)
        : this(bytes) => _memory = memory;

    private ShmPayload(SharedPiece piece)
    {
        _piece = piece;
        _memory = piece.Memory;
        _bytes = new ReadOnlySequence<byte>(_memory);
    }

    /// <summary>Gets the marshaller that sends and receives payloads unchanged.</summary>
    /// <remarks>
    /// Thread-safe. A channel or server of this library hands its pooled memory over; other transports copy the
    /// received bytes once more.
    /// </remarks>
    public static Marshaller<ShmPayload> Marshaller { get; } = Marshallers.Create(Write, Read);

    /// <summary>Gets the bytes, in one or more segments; valid until <see cref="Dispose"/>.</summary>
    /// <exception cref="ObjectDisposedException">The payload was disposed.</exception>
    /// <remarks>At most <see cref="int.MaxValue"/> bytes can be sent.</remarks>
    public ReadOnlySequence<byte> Bytes
    {
        get
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            return _bytes;
        }
    }

    /// <summary>Gets the number of bytes.</summary>
    /// <exception cref="ObjectDisposedException">The payload was disposed.</exception>
    public long Length => Bytes.Length;

    /// <summary>Gets the memory of a rented payload, to be written before the payload is sent.</summary>
    /// <exception cref="InvalidOperationException">The payload was not rented, or was sent already.</exception>
    /// <exception cref="ObjectDisposedException">The payload was disposed.</exception>
    /// <remarks>
    /// Its content is undefined until it is written. It must not be written after the payload was sent: the receiver
    /// may be reading it.
    /// </remarks>
    public Memory<byte> Memory
    {
        get
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            return _memory.IsEmpty || _isSent ? throw NotWritable() : _memory;
        }
    }

    /// <summary>
    /// Creates a payload of bytes that the caller keeps: they are not copied, and <see cref="Dispose"/> does not touch
    /// them.
    /// </summary>
    /// <param name="bytes">The bytes, which must not change while they are sent. Any number.</param>
    public static ShmPayload Wrap(in ReadOnlySequence<byte> bytes) => new(bytes);

    /// <inheritdoc cref="Wrap(in ReadOnlySequence{byte})"/>
    public static ShmPayload Wrap(ReadOnlyMemory<byte> bytes) => new(new ReadOnlySequence<byte>(bytes));

    /// <summary>Rents a payload of a connection's loans, or of private memory if there are none.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The length is less than 1.</exception>
    /// <exception cref="RpcException">The memory for loans is used up.</exception>
    internal static ShmPayload Rent(LinkLoans? loans, int length)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(length, 1);
        LentPiece? piece = null;
        if (loans?.Lent.TryRent(length, out piece) == LoanRent.LimitReached)
        {
            throw new RpcException(new Status(StatusCode.ResourceExhausted, loans.ReportLimit(length)));
        }

        if (piece is not null)
        {
            return new ShmPayload(piece);
        }

        // Zeroed, because the pool's arrays had messages of other peers: a user who writes less would send these.
        var bytes = new ReceivedMessage(length);
        Memory<byte> memory = bytes.MakeRoom(length);
        memory.Span.Clear();
        bytes.Advance(length);
        return new ShmPayload(bytes, memory);
    }

    /// <summary>Creates a payload with a copy of bytes.</summary>
    /// <param name="bytes">The bytes; at most <see cref="int.MaxValue"/>.</param>
    /// <exception cref="ArgumentOutOfRangeException">There are more than <see cref="int.MaxValue"/> bytes.</exception>
    public static ShmPayload CopyOf(in ReadOnlySequence<byte> bytes)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(bytes.Length, int.MaxValue, nameof(bytes));
        return new ShmPayload(ReceivedMessage.InChunks(bytes));
    }

    /// <summary>Creates a payload of some of the bytes of a received message, which it then owns.</summary>
    internal static ShmPayload OfPart(ReceivedMessage message, in ReadOnlySequence<byte> part) =>
        new(part) { _owned = message };

    /// <summary>Completes a message with bytes and those of the payload behind them.</summary>
    /// <exception cref="InvalidOperationException">The message is too long.</exception>
    /// <exception cref="ObjectDisposedException">The payload was disposed.</exception>
    internal void WriteBehind(ReadOnlyMemory<byte> before, SerializationContext context)
    {
        ReadOnlySequence<byte> bytes = Bytes;
        ThrowIfTooLong(before.Length + bytes.Length);
        _isSent = true;
        if (context is FrameSerializationContext ours)
        {
            if (_piece is not null && ours.TryComplete(before.Span, _piece))
            {
                return;
            }

            if (_memory.Length >= LoanPool.SmallestPiece)
            {
                ProcessCounts.CopiedPayloads.Add();
            }

            if (before.IsEmpty)
            {
                ours.Complete(bytes);
                return;
            }
        }

        context.SetPayloadLength(before.Length + (int)bytes.Length);
        IBufferWriter<byte> writer = context.GetBufferWriter();
        writer.Write(before.Span);
        foreach (ReadOnlyMemory<byte> memory in bytes)
        {
            writer.Write(memory.Span);
        }

        context.Complete();
    }

    /// <summary>Reads the next bytes of a stream, such as a file, into a payload.</summary>
    /// <param name="stream">The stream, which is left after the bytes that were read.</param>
    /// <param name="maxLength">
    /// The maximum number of bytes to read; 1 or more. Fewer are returned only at the end of the stream.
    /// </param>
    /// <param name="cancellationToken">Stops reading; the bytes read so far are lost.</param>
    /// <returns>The payload, which the caller disposes; its length is 0 at the end of the stream.</returns>
    /// <exception cref="ArgumentNullException">The stream is null.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="maxLength"/> is less than 1.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public static async ValueTask<ShmPayload> ReadAsync(
        Stream stream, int maxLength, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(stream);
        ArgumentOutOfRangeException.ThrowIfLessThan(maxLength, 1);
        var bytes = new ReceivedMessage(Math.Min(maxLength, ReceivedMessage.ChunkBytes));
        try
        {
            while (bytes.Length < maxLength)
            {
                Memory<byte> room = bytes.MakeRoom(maxLength - bytes.Length);
                int read = await stream.ReadAsync(room, cancellationToken).ConfigureAwait(false);
                if (read == 0)
                {
                    break;
                }

                bytes.Advance(read);
            }
        }
        catch
        {
            bytes.Release();
            throw;
        }

        return new ShmPayload(bytes);
    }

    /// <summary>Writes the bytes to a stream.</summary>
    /// <param name="stream">The stream to write to.</param>
    /// <param name="cancellationToken">Stops writing; some bytes may have been written.</param>
    /// <returns>
    /// A task that completes when the stream has taken the bytes; the payload must not be disposed before.
    /// </returns>
    /// <exception cref="ArgumentNullException">The stream is null.</exception>
    /// <exception cref="ObjectDisposedException">The payload was disposed.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public async ValueTask CopyToAsync(Stream stream, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(stream);
        foreach (ReadOnlyMemory<byte> memory in Bytes)
        {
            await stream.WriteAsync(memory, cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Returns a copy of the bytes in one array.</summary>
    /// <exception cref="ObjectDisposedException">The payload was disposed.</exception>
    public byte[] ToArray()
    {
        byte[] copy = Bytes.ToArray();
        GC.KeepAlive(this); // the bytes may be of the peer until this payload is collected
        return copy;
    }

    /// <summary>Returns the memory to the pool; safe to call repeatedly and from any thread.</summary>
    public void Dispose()
    {
        // If two threads returned the arrays, the pool would rent each array to two users.
        if (!Interlocked.Exchange(ref _isDisposed, true))
        {
            _bytes = default;
            _owned.Release();
            _piece?.Dispose();
        }
    }

    private static void Write(ShmPayload payload, SerializationContext context) =>
        payload.WriteBehind(default, context);

    private static ShmPayload Read(DeserializationContext context) => context is FrameDeserializationContext ours
        ? new ShmPayload(ours.TakeBytes())
        : new ShmPayload(ReceivedMessage.InChunks(context.PayloadAsReadOnlySequence()));

    private InvalidOperationException NotWritable() => new(_isSent
        ? "The payload was sent, and its receiver may read the memory now. Rent another payload for other bytes."
        : "The payload was not rented, so its bytes are only read. RentPayload gives one that can be written.");

    private static void ThrowIfTooLong(long length)
    {
        if (length > int.MaxValue)
        {
            Throw(length);
        }

        [DoesNotReturn]
        static void Throw(long length) => throw new InvalidOperationException(
            $"The payload has {length} bytes; a message has at most {int.MaxValue}.");
    }
}
