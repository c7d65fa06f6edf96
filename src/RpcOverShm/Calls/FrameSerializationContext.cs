using System.Buffers;
using Grpc.Core;
using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>
/// Where a marshaller puts a message: a pooled buffer of this thread, of the exact size where the marshaller says it
/// beforehand. Of a large message that says so the first parts may be on their way before the last is written.
/// Used by one thread; kept for each thread and used again, unless a serialiser itself serialises.
/// The order of calls is that of grpc-dotnet: either Complete with an array, or the writer and then Complete.
/// </summary>
internal sealed class FrameSerializationContext : SerializationContext, IDisposable
{
    [ThreadStatic]
    private static FrameSerializationContext? s_spare;

    private readonly ChunkedMessageWriter _writer;
    private State _state;
    private int? _announcedLength;
    private int? _limitBytes;
    private int _smallestInParts;
    private object? _message;       // what is being serialised
    private IMessageChunkSink? _parts;  // where a large message may go while it is written; null for nowhere
    private bool _isInParts;        // this one goes there

    private FrameSerializationContext() => _writer = new ChunkedMessageWriter(Bytes);

    private enum State
    {
        Initialized,
        GotWriter,
        Complete,
    }

    /// <summary>
    /// The message, once it is complete, or what was not sent of it. The receiver may detach the bytes.
    /// </summary>
    public PooledBufferWriter Bytes { get; } = new();

    /// <summary>How long the message is, with what was sent of it.</summary>
    public long Length => (long)_writer.SentBytes + Bytes.Length;

    /// <summary>True when the message could go out in parts, wherever it went.</summary>
    public bool MayGoInParts => Length >= _smallestInParts;

    /// <summary>True when parts of the message were sent: what is here goes behind them.</summary>
    public bool HasSentParts => _writer.SentBytes > 0;

    /// <summary>
    /// Serialises a message of at most so many bytes. The caller disposes the context when it has used the bytes.
    /// </summary>
    /// <param name="marshaller">Writes it.</param>
    /// <param name="message">What to write.</param>
    /// <param name="limitBytes">The most bytes that it may have; null for any.</param>
    /// <param name="parts">
    /// Where a large message may go while it is being written; null to collect it whole. Whoever gives this has to end
    /// the call when this throws: parts may have been sent.
    /// </param>
    /// <exception cref="MessageTooLargeException">The message is larger than the limit.</exception>
    /// <exception cref="InvalidOperationException">
    /// The marshaller did not complete the message, or lied about its length.
    /// </exception>
    public static FrameSerializationContext Serialize<T>(
        Marshaller<T> marshaller, T message, int? limitBytes, IMessageChunkSink? parts)
    {
        FrameSerializationContext context = s_spare ?? new FrameSerializationContext();
        s_spare = null;
        context._state = State.Initialized;
        context._announcedLength = null;
        context._limitBytes = limitBytes;
        context._smallestInParts = ChunkedMessageWriter.SmallestMessageBytes;
        context._message = message;
        context._parts = parts;
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

    /// <summary>Gives the context back for the thread's next message.</summary>
    public void Dispose()
    {
        // A serialiser that goes on behind its own end is told, and does not write into the next message.
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

        // Before anything is written: a message over the limit costs nothing.
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

        // Copied at once, where it can't be sent at once: a serialiser may use its array for something else then.
        bool isAsAnnounced = _announcedLength is null || _announcedLength == payload.Length;
        if (isAsAnnounced && TryBeginParts(payload.Length))
        {
            _writer.WriteAll(new ReadOnlySequence<byte>(payload));
        }
        else
        {
            Bytes.Write(payload);
        }
    }

    /// <summary>
    /// True when this is what is to be sent, and not something that a marshaller has made of it and may use again.
    /// </summary>
    public bool IsMessage(object candidate) => ReferenceEquals(candidate, _message);

    /// <summary>
    /// Completes the message with an array that stays as it is while the message is sent: it is copied only when it has
    /// to wait.
    /// </summary>
    public void CompleteWithMessage(byte[] message)
    {
        BeginCompletion(message.Length);
        _smallestInParts = ChunkedMessageWriter.SmallestThatLiesThere;
        if (TryBeginParts(message.Length))
        {
            _writer.WriteAll(new ReadOnlySequence<byte>(message));
        }
        else if (message.Length < _smallestInParts)
        {
            Bytes.Borrow(message);
        }
        else
        {
            // What is more than a record has to wait in any case.
            Bytes.Write(message);
        }
    }

    /// <summary>Completes the message with bytes that are elsewhere, and need not be kept after this.</summary>
    public void Complete(in ReadOnlySequence<byte> payload)
    {
        BeginCompletion(payload.Length);
        _smallestInParts = ChunkedMessageWriter.SmallestThatLiesThere;
        if (TryBeginParts(checked((int)payload.Length)))
        {
            _writer.WriteAll(payload);
        }
        else
        {
            Bytes.Reserve((int)payload.Length);
            foreach (ReadOnlyMemory<byte> memory in payload)
            {
                Bytes.Write(memory.Span);
            }
        }
    }

    public override void Complete()
    {
        if (_state != State.GotWriter)
        {
            throw new InvalidOperationException("Can't complete a message twice, or before the writer was taken.");
        }

        _state = State.Complete;
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
