using System.Text;

namespace Grpc.Core;

public static class Marshallers
{
    public static Marshaller<string> StringMarshaller => new(Encoding.UTF8.GetBytes, Encoding.UTF8.GetString);

    public static Marshaller<T> Create<T>(Func<T, byte[]> serializer, Func<byte[], T> deserializer) =>
        new(serializer, deserializer);

    public static Marshaller<T> Create<T>(
        Action<T, SerializationContext> serializer,
        Func<DeserializationContext, T> deserializer) =>
        new(serializer, deserializer);
}
