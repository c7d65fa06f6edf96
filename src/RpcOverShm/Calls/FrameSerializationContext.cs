using System.Buffers;
using Grpc.Core;
using RpcOverShm.Buffers;

namespace RpcOverShm.Calls;

/// <summary>
/// The serialisation context of one message, which goes into a pooled buffer. If the marshaller announces the length,
/// the buffer has the exact size, and the first parts of a large message may be sent before the last is written. The
/// order of calls is that of grpc-dotnet: either Complete with an array, or GetBufferWriter and then Complete. Not
/// thread-safe. Each thread caches one instance; a nested serialisation creates another.
/// </summary>
internal sealed class FrameSerializationContext : SerializationContext, IDisposable
{
    [ThreadStatic]
    private static FrameSerializationContext? s_spare;

    private readonly MessagePartWriter _writer;
    private State _state;
    private int? _announcedLength;
    private int? _limitBytes;
    private int _smallestInParts;
    private object? _message;       // the message being serialised
    private IMessagePartSink? _parts;  // receives parts of a large message while it is written, or null
    private bool _isInParts;        // this message goes out in parts
    private bool _mayRefer;         // the message may end with a shared piece

    private FrameSerializationContext() => _writer = new MessagePartWriter(Bytes);

    private enum State
    {
        Initialized,
        GotWriter,
        Complete,
    }

    /// <summary>The complete message, or the part of it that was not sent. The caller may detach the bytes.</summary>
    public PooledBufferWriter Bytes { get; } = new();

    /// <summary>The length of the message in bytes, including the parts that were sent.</summary>
    public long Length => (long)_writer.SentBytes + Bytes.Length;

    /// <summary>Whether the message is large enough to go out in parts, even if it did not.</summary>
    public bool MayGoInParts => Length >= _smallestInParts;

    /// <summary>Whether parts of the message were sent; <see cref="Bytes"/> must follow them.</summary>
    public bool HasSentParts => _writer.SentBytes > 0;

    /// <summary>
    /// Serialises a message. The caller disposes the context after it has used the bytes. If there are
    /// <paramref name="parts"/>, they receive those of a large message while it is written; the caller must then end
    /// the call if this method throws, because parts may have been sent. If <paramref name="mayRefer"/> is true,
    /// <see cref="Bytes"/> may end with a shared piece.
    /// </summary>
    /// <exception cref="MessageTooLargeException">The message is larger than the limit.</exception>
    /// <exception cref="InvalidOperationException">
    /// The marshaller did not complete the message, or wrote another length than it announced.
    /// </exception>
    public static FrameSerializationContext Serialize<T>(
        Marshaller<T> marshaller, T message, int? limitBytes, IMessagePartSink? parts, bool mayRefer = false)
    {
        FrameSerializationContext context = s_spare ?? new FrameSerializationContext();
        s_spare = null;
        context._state = State.Initialized;
        context._announcedLength = null;
        context._limitBytes = limitBytes;
        context._smallestInParts = MessagePartWriter.SmallestMessageBytes;
        context._message = message;
        context._parts = parts;
        context._mayRefer = mayRefer;
        try
        {
            marshaller.ContextualSerializer(message, context);
            context.CheckResult();
            return context;
        }
        catch
        {
            context.Dispose();
            throw;
        }
    }

    /// <summary>Returns the context to the thread's cache.</summary>
    public void Dispose()
    {
        // A serialiser that still calls this context after its return gets an exception, until the context is reused.
        _state = State.Complete;
        Bytes.Clear();
        _message = null;
        _parts = null;
        if (_isInParts)
        {
            _isInParts = false;
            _writer.Clear();
        }

        s_spare = this;
    }

    public override void SetPayloadLength(int payloadLength)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(payloadLength);
        if (_state != State.Initialized)
        {
            throw new InvalidOperationException(
                "Can't set payload length after the writer was taken or the message completed.");
        }

        // Checked before anything is written, so that a message over the limit costs nothing.
        ThrowIfTooLarge(payloadLength);
        _announcedLength = payloadLength;
        _isInParts = false;
        if (!TryBeginParts(payloadLength))
        {
            Bytes.Reserve(payloadLength);
        }
    }

    public override IBufferWriter<byte> GetBufferWriter()
    {
        if (_state == State.Complete)
        {
            throw new InvalidOperationException("Can't get the buffer writer after the message was completed.");
        }

        _state = State.GotWriter;
        return _isInParts ? _writer : Bytes;
    }

    public override void Complete(byte[] payload)
    {
        ArgumentNullException.ThrowIfNull(payload);
        BeginCompletion(payload.Length);

        // The serialiser may reuse its array after this call, so bytes that can't be sent at once are copied. A message
        // of another length than announced fails, so no part of it goes.
        bool isAsAnnounced = _announcedLength is null || _announcedLength == payload.Length;
        Write(new ReadOnlySequence<byte>(payload), mayGoInParts: isAsAnnounced);
    }

    /// <summary>
    /// Returns whether the object is the message itself, not one that the marshaller made and may reuse.
    /// </summary>
    public bool IsMessage(object candidate) => ReferenceEquals(candidate, _message);

    /// <summary>
    /// Completes the message with an array that does not change while it is sent. Bytes that must wait are copied.
    /// </summary>
    public void CompleteWithMessage(byte[] message)
    {
        BeginCompletion(message.Length);
        _smallestInParts = MessagePartWriter.SmallestThatLiesThere;
        if (message.Length < _smallestInParts)
        {
            Bytes.Borrow(message);
        }
        else
        {
            // More than one record: bytes that are not sent at once have to wait, so they are copied in any case.
            Write(new ReadOnlySequence<byte>(message), mayGoInParts: true);
        }
    }

    /// <summary>Completes the message with bytes that the caller may change or free afterwards.</summary>
    public void Complete(in ReadOnlySequence<byte> payload)
    {
        BeginCompletion(payload.Length);
        _smallestInParts = MessagePartWriter.SmallestThatLiesThere;
        Write(payload, mayGoInParts: true);
    }

    /// <summary>
    /// Completes the message with bytes and a piece behind them, if the sender may refer to it. Otherwise returns
    /// false.
    /// </summary>
    public bool TryComplete(ReadOnlySpan<byte> before, SharedPiece piece)
    {
        if (_mayRefer)
        {
            BeginCompletion((long)before.Length + piece.Length);
            Bytes.Write(before);
            Bytes.Attach(piece);
        }

        return _mayRefer;
    }

    public override void Complete()
    {
        if (_state != State.GotWriter)
        {
            throw new InvalidOperationException("Can't complete a message twice, or before the writer was taken.");
        }

        _state = State.Complete;
    }

    private void Write(in ReadOnlySequence<byte> payload, bool mayGoInParts)
    {
        int length = checked((int)payload.Length);
        if (mayGoInParts && TryBeginParts(length))
        {
            _writer.WriteAll(payload);
            return;
        }

        payload.CopyTo(Bytes.Append(length));
    }

    private void BeginCompletion(long length)
    {
        if (_state != State.Initialized)
        {
            throw new InvalidOperationException(
                "Can't complete with bytes after the writer was taken or the message completed.");
        }

        ThrowIfTooLarge(length);
        _state = State.Complete;
    }

    private void CheckResult()
    {
        if (_state != State.Complete)
        {
            throw new InvalidOperationException("The serializer returned without completing the message.");
        }

        ThrowIfTooLarge(Length);
        if (_announcedLength is { } announced && announced != Length)
        {
            throw new InvalidOperationException(
                $"The serializer announced a message of {announced} bytes and wrote {Length}.");
        }
    }

    private bool TryBeginParts(int length)
    {
        if (_parts is null || length < _smallestInParts)
        {
            return false;
        }

        _isInParts = true;
        _writer.Begin(_parts, length);
        return true;
    }

    private void ThrowIfTooLarge(long bytes)
    {
        if (bytes > _limitBytes)
        {
            throw new MessageTooLargeException(bytes, _limitBytes.Value, MessageTooLargeException.SendOption);
        }
    }
}
