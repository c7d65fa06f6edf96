using System.Buffers;

namespace RpcOverShm.Perf.Peer.Records;

/// <summary>
/// Takes records to frames of a byte stream and back, by a marshaller: one buffer, used again, with room before the
/// message for its length and its kind. One thread at a time.
/// </summary>
internal sealed class RecordFrames(RecordFormat format) : SerializationContext, IBufferWriter<byte>
{
    /// <summary>Before the message: the frame's length and the kind of record.</summary>
    private const int PrefixBytes = ByteStreamServer.LengthBytes + 1;

    private readonly Source _source = new();
    private byte[] _frame = new byte[256];
    private int _length;

    /// <summary>Parses the message of a frame.</summary>
    public T Read<T>(ReadOnlyMemory<byte> frame)
        where T : class, IMessage<T>, new()
    {
        _source.Message = frame[PrefixBytes..];
        return format.MarshallerOf<T>().ContextualDeserializer(_source);
    }

    /// <summary>Serialises a message; the frame is valid until the next one.</summary>
    public ReadOnlyMemory<byte> Write<T>(T message, byte kind)
        where T : class, IMessage<T>, new()
    {
        _length = PrefixBytes;
        format.MarshallerOf<T>().ContextualSerializer(message, this);
        BinaryPrimitives.WriteInt32LittleEndian(_frame, _length - ByteStreamServer.LengthBytes);
        _frame[ByteStreamServer.LengthBytes] = kind;
        return _frame.AsMemory(0, _length);
    }

    public override void SetPayloadLength(int payloadLength) => Reserve(payloadLength);

    public override IBufferWriter<byte> GetBufferWriter() => this;

    public override void Complete()
    {
    }

    public override void Complete(byte[] payload) => this.Write(payload);

    public void Advance(int count) => _length += count;

    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        Reserve(Math.Max(sizeHint, 1));
        return _frame.AsMemory(_length);
    }

    public Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;

    private void Reserve(int bytes)
    {
        if (_frame.Length - _length < bytes)
        {
            Array.Resize(ref _frame, Math.Max(_frame.Length * 2, _length + bytes));
        }
    }

    private sealed class Source : DeserializationContext
    {
        public ReadOnlyMemory<byte> Message { get; set; }

        public override int PayloadLength => Message.Length;

        public override byte[] PayloadAsNewBuffer() => Message.ToArray();

        public override ReadOnlySequence<byte> PayloadAsReadOnlySequence() => new(Message);
    }
}
