using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm;

/// <summary>
/// A message of raw bytes in pooled memory, for proxies, routers and files: a received one is copied once, out of the
/// ring (one that is decompressed, once more), and none of its arrays is a large object (85,000 bytes). Methods have it
/// as a type with <see cref="Marshaller"/>, where the bytes are those of the service's own serialiser, or with
/// <see cref="ShmRawCodec"/>.
/// <para>
/// Whoever receives one owns it, may keep it, and disposes it; nothing of <see cref="Bytes"/> may be used after that.
/// One that is never disposed costs the pool its arrays and nothing else. A request stays its caller's: it is disposed
/// when the call has ended, since a call that a leaving server has refused unseen is serialised again; a message that
/// was written to a stream when its write has completed. What a method returns is disposed by the server: each call
/// returns one of its own, also where <see cref="Wrap(ReadOnlyMemory{byte})"/> makes them of the same bytes.
/// </para>
/// <para>Not thread-safe: disposing it while another thread reads it gives that thread somebody else's bytes.</para>
/// </summary>
public sealed class ShmPayload : IDisposable, IPooledMessage
{
    private ReceivedMessage _owned;            // empty where the bytes are somebody else's
    private ReadOnlySequence<byte> _bytes;
    private bool _isDisposed;

    private ShmPayload(ReceivedMessage bytes)
    {
        _bytes = bytes.AsSequence();
        _owned = bytes;
    }

    private ShmPayload(in ReadOnlySequence<byte> bytes) => _bytes = bytes;

    /// <summary>
    /// Sends and receives payloads as they are. Thread-safe. With a channel or server of this library received bytes
    /// are taken over; elsewhere they are copied once more.
    /// </summary>
    public static Marshaller<ShmPayload> Marshaller { get; } = Marshallers.Create(Write, Read);

    /// <summary>
    /// The bytes, in one piece or in several; valid until <see cref="Dispose"/>. At most <see cref="int.MaxValue"/>
    /// can be sent.
    /// </summary>
    /// <exception cref="ObjectDisposedException">The payload was disposed.</exception>
    public ReadOnlySequence<byte> Bytes
    {
        get
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            return _bytes;
        }
    }

    /// <summary>How many bytes there are.</summary>
    /// <exception cref="ObjectDisposedException">The payload was disposed.</exception>
    public long Length => Bytes.Length;

    /// <summary>
    /// A payload of bytes that stay their owner's: not copied, and not touched by <see cref="Dispose"/>. They must not
    /// change while they are being sent.
    /// </summary>
    /// <param name="bytes">Any number of bytes.</param>
    public static ShmPayload Wrap(in ReadOnlySequence<byte> bytes) => new(bytes);

    /// <inheritdoc cref="Wrap(in ReadOnlySequence{byte})"/>
    public static ShmPayload Wrap(ReadOnlyMemory<byte> bytes) => new(new ReadOnlySequence<byte>(bytes));

    /// <summary>A payload of its own, with a copy of bytes.</summary>
    /// <param name="bytes">At most <see cref="int.MaxValue"/>.</param>
    /// <exception cref="ArgumentOutOfRangeException">There are more.</exception>
    public static ShmPayload CopyOf(in ReadOnlySequence<byte> bytes)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(bytes.Length, int.MaxValue, nameof(bytes));
        return new ShmPayload(ReceivedMessage.InChunks(bytes));
    }

    /// <summary>Reads the next piece of a stream, a file for example.</summary>
    /// <param name="stream">Is left behind the bytes that were read.</param>
    /// <param name="maxLength">The most bytes to read, 1 or more. Fewer come only where the stream ends.</param>
    /// <param name="cancellationToken">Gives up; what was read by then is lost.</param>
    /// <returns>The payload; of length 0 where the stream was at its end.</returns>
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
    /// <param name="stream">Where to.</param>
    /// <param name="cancellationToken">Gives up; some bytes may have been written.</param>
    /// <returns>Completes when the stream has taken them; until then the payload must not be disposed.</returns>
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

    /// <summary>A copy of the bytes, in one array.</summary>
    /// <exception cref="ObjectDisposedException">The payload was disposed.</exception>
    public byte[] ToArray() => Bytes.ToArray();

    /// <summary>Gives the memory back to the pool. More than once is allowed, by any thread.</summary>
    public void Dispose()
    {
        // Two threads that both gave the arrays back would have the pool lend each of them twice.
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
