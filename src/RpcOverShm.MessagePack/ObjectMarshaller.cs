using Grpc.Core;
using MessagePack;

namespace RpcOverShm.MessagePack;

/// <summary>The marshaller of a type that MessagePack's own resolvers know. Thread-safe.</summary>
internal sealed class ObjectMarshaller<T>(MessagePackSerializerOptions options)
    where T : class
{
    /// <summary>Null when the options' resolver does not know the type.</summary>
    /// <exception cref="NotSupportedException">It knows the type, and can't use it.</exception>
    public static Marshaller<T>? TryCreate(MessagePackSerializerOptions options)
    {
        try
        {
            if (options.Resolver.GetFormatter<T>() is null)
            {
                return null;
            }
        }
        catch (Exception exception) when (exception is MessagePackSerializationException or TypeInitializationException)
        {
            throw new NotSupportedException($"The codec 'msgpack' can't take messages of type {typeof(T)}.", exception);
        }

        var marshaller = new ObjectMarshaller<T>(options);
        return Marshallers.Create<T>(marshaller.Serialize, marshaller.Deserialize);
    }

    private void Serialize(T message, SerializationContext context)
    {
        MessagePackSerializer.Serialize(context.GetBufferWriter(), message, options);
        context.Complete();
    }

    private T Deserialize(DeserializationContext context)
    {
        var reader = new MessagePackReader(context.PayloadAsReadOnlySequence());
        ThrowIfIncomplete(reader);
        T? message = MessagePackSerializer.Deserialize<T>(ref reader, options);
        if (!reader.End)
        {
            throw new MessagePackSerializationException($"There are bytes behind the message, a {typeof(T)}.");
        }

        return message ?? throw new MessagePackSerializationException($"Nil where a {typeof(T)} is expected.");
    }

    /// <summary>
    /// Looks at all of it before anything is made of it. The package makes an array as long as its header says once
    /// that many bytes follow; arrays inside arrays may promise the same bytes again and again.
    /// </summary>
    private static void ThrowIfIncomplete(MessagePackReader reader)
    {
        try
        {
            reader.Skip();
        }
        catch (EndOfStreamException exception)
        {
            throw new MessagePackSerializationException(
                $"Malformed MessagePack for {typeof(T)}: it promises more than there is.", exception);
        }
    }
}
