using Grpc.Core.Utils;

namespace Grpc.Core;

/// <summary>
/// How messages become bytes and back. Transports use the contextual pair only, so plain functions are dressed up as
/// contextual ones, and the other way round there is nothing but NotImplementedException, as in the package.
/// </summary>
public class Marshaller<T>
{
    public Marshaller(Func<T, byte[]> serializer, Func<byte[], T> deserializer)
    {
        Serializer = GrpcPreconditions.CheckNotNull(serializer, nameof(serializer));
        Deserializer = GrpcPreconditions.CheckNotNull(deserializer, nameof(deserializer));
        ContextualSerializer = SerializeIntoContext;
        ContextualDeserializer = DeserializeFromContext;
    }

    public Marshaller(Action<T, SerializationContext> serializer, Func<DeserializationContext, T> deserializer)
    {
        ContextualSerializer = GrpcPreconditions.CheckNotNull(serializer, nameof(serializer));
        ContextualDeserializer = GrpcPreconditions.CheckNotNull(deserializer, nameof(deserializer));
        Serializer = static _ => throw new NotImplementedException();
        Deserializer = static _ => throw new NotImplementedException();
    }

    public Func<T, byte[]> Serializer { get; }

    public Func<byte[], T> Deserializer { get; }

    public Action<T, SerializationContext> ContextualSerializer { get; }

    public Func<DeserializationContext, T> ContextualDeserializer { get; }

    private void SerializeIntoContext(T message, SerializationContext context) => context.Complete(Serializer(message));

    private T DeserializeFromContext(DeserializationContext context) => Deserializer(context.PayloadAsNewBuffer());
}
