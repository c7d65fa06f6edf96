using System.Buffers;
using Grpc.Core;
using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>
/// Where a marshaller puts a message: a pooled buffer of this thread, of the exact size where the marshaller says it
/// beforehand. Used by one thread; kept for each thread and used again, unless a serialiser itself serialises.
/// The order of calls is that of grpc-dotnet: either Complete with an array, or the writer and then Complete.
/// </summary>
internal sealed class FrameSerializationContext : SerializationContext, IDisposable
{
    [ThreadStatic]
    private static FrameSerializationContext? s_spare;

    private State _state;
    private int? _announcedLength;
    private int? _limitBytes;

    private enum State
    {
        Initialized,
        GotWriter,
        Complete,
    }

    /// <summary>The message, once it is complete. The receiver may detach the bytes.</summary>
    public PooledBufferWriter Bytes { get; } = new();

    /// <summary>
    /// Serialises a message of at most so many bytes. The caller disposes the context when it has used the bytes.
    /// </summary>
    /// <exception cref="MessageTooLargeException">The message is larger than the limit.</exception>
    /// <exception cref="InvalidOperationException">
    /// The marshaller did not complete the message, or lied about its length.
    /// </exception>
    public static FrameSerializationContext Serialize<T>(Marshaller<T> marshaller, T message, int? limitBytes)
    {
        FrameSerializationContext context = s_spare ?? new FrameSerializationContext();
        s_spare = null;
        context._state = State.Initialized;
        context._announcedLength = null;
        context._limitBytes = limitBytes;
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
        Bytes.Clear();
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
        Bytes.Reserve(payloadLength);
    }

    public override IBufferWriter<byte> GetBufferWriter()
    {
        if (_state == State.Complete)
        {
            throw new InvalidOperationException("Can't get the buffer writer after the message was completed.");
        }

        _state = State.GotWriter;
        return Bytes;
    }

    public override void Complete(byte[] payload)
    {
        ArgumentNullException.ThrowIfNull(payload);
        if (_state != State.Initialized)
        {
            throw new InvalidOperationException(
                "Can't complete with an array after the writer was taken or the message completed.");
        }

        ThrowIfTooLarge(payload.Length);
        _state = State.Complete;
        Bytes.Write(payload);
    }

    public override void Complete()
    {
        if (_state != State.GotWriter)
        {
            throw new InvalidOperationException("Can't complete a message twice, or before the writer was taken.");
        }

        _state = State.Complete;
    }

    private void CheckResult()
    {
        if (_state != State.Complete)
        {
            throw new InvalidOperationException("The serializer returned without completing the message.");
        }

        ThrowIfTooLarge(Bytes.Length);
        if (_announcedLength is { } announced && announced != Bytes.Length)
        {
            throw new InvalidOperationException(
                $"The serializer announced a message of {announced} bytes and wrote {Bytes.Length}.");
        }
    }

    private void ThrowIfTooLarge(int bytes)
    {
        if (bytes > _limitBytes)
        {
            throw new MessageTooLargeException();
        }
    }
}
