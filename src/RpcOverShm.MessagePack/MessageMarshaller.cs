using System.Buffers;
using Google.Protobuf.Reflection;
using Grpc.Core;
using MessagePack;
using RpcOverShm.MessagePack.Messages;
using RpcOverShm.MessagePack.Wire;

namespace RpcOverShm.MessagePack;

/// <summary>The marshaller of a generated message type. Thread-safe.</summary>
internal sealed class MessageMarshaller<T>(MessageDescriptor descriptor, MessageCode<T> code)
    where T : class
{
    /// <summary>Creates the marshaller with compiled code, or with the descriptor if code cannot be compiled.</summary>
    /// <exception cref="NotSupportedException">The type contains something that the codec does not support.</exception>
    public static Marshaller<T> Create()
    {
        // Checked first, because code for an unsupported type cannot be compiled.
        MessageDescriptor descriptor = MessageTypes.DescriptorOf<T>();
        MessageTypes.Check(descriptor);
        return new MessageMarshaller<T>(descriptor, MessageFormatter<T>.Code).ToMarshaller();
    }

    /// <summary>Creates the marshaller without compiled code.</summary>
    public static Marshaller<T> CreateByDescriptor()
    {
        MessageDescriptor descriptor = MessageTypes.DescriptorOf<T>();
        MessageTypes.Check(descriptor);
        return new MessageMarshaller<T>(descriptor, MessageFormatter<T>.ByDescriptor()).ToMarshaller();
    }

    private Marshaller<T> ToMarshaller() => Marshallers.Create<T>(Serialize, Deserialize);

    private void Serialize(T message, SerializationContext context)
    {
        if (message is null)
        {
            throw new MessagePackSerializationException($"The message is null where a {typeof(T)} is to be sent.");
        }

        long size = code.Size(message);
        if (size > Array.MaxLength)
        {
            throw new MessagePackSerializationException(
                $"A message of {size} bytes; {Array.MaxLength} are the most that there can be.");
        }

        context.SetPayloadLength((int)size);
        var writer = new MessageWriter(context.GetBufferWriter());
        code.Write(ref writer, message);
        writer.Flush();
        context.Complete();
    }

    private T Deserialize(DeserializationContext context)
    {
        ReadOnlySequence<byte> payload = context.PayloadAsReadOnlySequence();
        if (payload.IsSingleSegment)
        {
            return Parse(payload.FirstSpan);
        }

        // A large message has several segments. Copying it costs less than checking the bounds for each value.
        int length = (int)payload.Length;
        byte[] whole = ArrayPool<byte>.Shared.Rent(length);
        try
        {
            payload.CopyTo(whole);
            return Parse(whole.AsSpan(0, length));
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(whole);
        }
    }

    private T Parse(ReadOnlySpan<byte> payload)
    {
        var reader = new MessageReader(payload);
        reader.EnterRoot(descriptor);
        T message = code.Create();
        code.Merge(ref reader, message);
        reader.Finish();
        return message;
    }
}
