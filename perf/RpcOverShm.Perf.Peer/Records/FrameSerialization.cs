using System.Buffers;

namespace RpcOverShm.Perf.Peer.Records;

/// <summary>
/// Where a marshaller puts a message that goes into a byte stream: one buffer, used again, with room before the message
/// for its length and its kind. One thread at a time.
/// </summary>
internal sealed class FrameSerialization : SerializationContext, IBufferWriter<byte>
{
    /// <summary>Before the message: the frame's length and the kind of record.</summary>
    public const int PrefixBytes = ByteStreamServer.LengthBytes + 1;

    private byte[] _frame = new byte[256];
    private int _length;

    /// <summary>Serialises a message; the frame is good until the next one.</summary>
    public ReadOnlyMemory<byte> Frame<T>(Marshaller<T> marshaller, T message, byte kind)
    {
        _length = PrefixBytes;
        marshaller.ContextualSerializer(message, this);
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
}
