using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;

namespace RpcOverShm;

/// <summary>A message of raw bytes in pooled memory, for proxies, routers and files.</summary>
/// <remarks>
/// <para>
/// Methods with this message type use <see cref="Marshaller"/>. Alone, it forwards messages of generated marshallers;
/// with <see cref="ShmRawCodec"/>, raw bytes or those of another codec. A received payload is copied once, out of the
/// ring, and once more if it is decompressed. None of its arrays is a large object (85,000 bytes).
/// </para>
/// <para>
/// The receiver owns a payload, may keep it, and disposes it; <see cref="Bytes"/> must not be used after that. If the
/// receiver never disposes it, the pool loses its arrays and nothing else happens.
/// </para>
/// <para>
/// The caller keeps ownership of a request. It disposes the request when the call has ended, because a call that a
/// stopping server refused is serialised again (transparent retry). It disposes a message of a request stream when the
/// write has completed. The server disposes the payload that a method returns, so each call must return its own
/// payload, even if <see cref="Wrap(ReadOnlyMemory{byte})"/> creates them from the same bytes.
/// </para>
/// <para>
/// Not thread-safe: if one thread disposes a payload while another reads it, the reader sees the bytes of another
/// message.
/// </para>
/// </remarks>
public sealed class ShmPayload : IDisposable, IPooledMessage
{
    private ReceivedMessage _owned;            // empty if the bytes were wrapped
    private ReadOnlySequence<byte> _bytes;
    private bool _isDisposed;

    private ShmPayload(ReceivedMessage bytes)
    {
        _bytes = bytes.AsSequence();
        _owned = bytes;
    }

    private ShmPayload(in ReadOnlySequence<byte> bytes) => _bytes = bytes;

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

    /// <summary>
    /// Creates a payload of bytes that the caller keeps: they are not copied, and <see cref="Dispose"/> does not touch
    /// them.
    /// </summary>
    /// <param name="bytes">The bytes, which must not change while they are sent. Any number.</param>
    public static ShmPayload Wrap(in ReadOnlySequence<byte> bytes) => new(bytes);

    /// <inheritdoc cref="Wrap(in ReadOnlySequence{byte})"/>
    public static ShmPayload Wrap(ReadOnlyMemory<byte> bytes) => new(new ReadOnlySequence<byte>(bytes));

    /// <summary>Creates a payload with a copy of bytes.</summary>
    /// <param name="bytes">The bytes; at most <see cref="int.MaxValue"/>.</param>
    /// <exception cref="ArgumentOutOfRangeException">There are more than <see cref="int.MaxValue"/> bytes.</exception>
    public static ShmPayload CopyOf(in ReadOnlySequence<byte> bytes)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(bytes.Length, int.MaxValue, nameof(bytes));
        return new ShmPayload(ReceivedMessage.InChunks(bytes));
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
    public byte[] ToArray() => Bytes.ToArray();

    /// <summary>Returns the memory to the pool; safe to call repeatedly and from any thread.</summary>
    public void Dispose()
    {
        // If two threads returned the arrays, the pool would rent each array to two users.
        if (!Interlocked.Exchange(ref _isDisposed, true))
        {
            _bytes = default;
            _owned.Release();
        }
    }

    private static void Write(ShmPayload payload, SerializationContext context)
    {
        ReadOnlySequence<byte> bytes = payload.Bytes;
        ThrowIfTooLong(bytes.Length);
        if (context is FrameSerializationContext ours)
        {
            ours.Complete(bytes);
            return;
        }

        context.SetPayloadLength((int)bytes.Length);
        IBufferWriter<byte> writer = context.GetBufferWriter();
        foreach (ReadOnlyMemory<byte> memory in bytes)
        {
            writer.Write(memory.Span);
        }

        context.Complete();
    }

    private static ShmPayload Read(DeserializationContext context) => context is FrameDeserializationContext ours
        ? new ShmPayload(ours.TakeBytes())
        : new ShmPayload(ReceivedMessage.InChunks(context.PayloadAsReadOnlySequence()));

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
