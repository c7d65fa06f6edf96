using System.Buffers;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Protocol;

namespace RpcOverShm;

/// <summary>
/// The marshaller of a message with a payload. The generated one does the other fields; tag, length and bytes of the
/// payload follow them. Received, the field may stand anywhere. Thread-safe.
/// </summary>
internal sealed class PayloadMessageMarshaller<T>
    where T : class
{
    private readonly Marshaller<T> _generated;
    private int _field; // 0 until it is known

    public PayloadMessageMarshaller(Marshaller<T> generated)
    {
        _generated = generated;
        Marshaller = new Marshaller<T>(Write, Read);
    }

    public Marshaller<T> Marshaller { get; }

    // The field's number is a property of a message, so it is that of an empty one: that has no byte in Protobuf.
    private int Field
    {
        get
        {
            if (_field == 0)
            {
                var empty = (IShmPayloadMessage)_generated.ContextualDeserializer(new FieldsReading(default));
                _field = ProtobufField.IsNumber(empty.PayloadFieldNumber)
                    ? empty.PayloadFieldNumber
                    : throw new InvalidOperationException(
                        $"{typeof(T)} says that its payload is field {empty.PayloadFieldNumber}. "
                        + "PayloadFieldNumber must be the number of a bytes field of the message.");
            }

            return _field;
        }
    }

    private void Write(T message, SerializationContext context)
    {
        if (((IShmPayloadMessage)message).Payload is not { } payload)
        {
            _generated.ContextualSerializer(message, context);
            return;
        }

        using var fields = new PooledBufferWriter();
        _generated.ContextualSerializer(message, new FieldsWriting(fields));
        if (ProtobufField.TryFind(new ReadOnlySequence<byte>(fields.WrittenMemory), Field, out _))
        {
            throw new InvalidOperationException(
                $"A message of type {typeof(T)} has a payload and bytes in field {Field}, which is the payload's. Set "
                + "one of the two.");
        }

        ProtobufField.WriteHead(fields, Field, payload.Length);
        payload.WriteBehind(fields.WrittenMemory, context);
    }

    private T Read(DeserializationContext context)
    {
        ReceivedMessage bytes = context is FrameDeserializationContext ours
            ? ours.TakeBytes()
            : ReceivedMessage.InChunks(context.PayloadAsReadOnlySequence());
        bool isKept = false;
        try
        {
            ReadOnlySequence<byte> all = bytes.AsSequence();
            if (!ProtobufField.TryFind(all, Field, out ProtobufField field))
            {
                return _generated.ContextualDeserializer(new FieldsReading(all));
            }

            T message = _generated.ContextualDeserializer(new FieldsReading(field.Without(all)));
            ((IShmPayloadMessage)message).Payload = ShmPayload.OfPart(bytes, field.Of(all));
            isKept = true;
            return message;
        }
        finally
        {
            if (!isKept)
            {
                bytes.Release();
            }
        }
    }

    /// <summary>Collects what the generated marshaller writes.</summary>
    private sealed class FieldsWriting(PooledBufferWriter fields) : SerializationContext
    {
        public override void Complete(byte[] payload) => fields.Write(payload);

        public override IBufferWriter<byte> GetBufferWriter() => fields;

        public override void SetPayloadLength(int payloadLength) => fields.Reserve(payloadLength);

        public override void Complete()
        {
        }
    }

    /// <summary>Gives the generated marshaller the fields besides the payload.</summary>
    private sealed class FieldsReading(ReadOnlySequence<byte> fields) : DeserializationContext
    {
        public override int PayloadLength => (int)fields.Length;

        public override byte[] PayloadAsNewBuffer() => fields.ToArray();

        public override ReadOnlySequence<byte> PayloadAsReadOnlySequence() => fields;
    }
}
