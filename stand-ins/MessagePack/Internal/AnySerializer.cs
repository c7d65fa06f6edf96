using System.Collections.Concurrent;

namespace MessagePack;

/// <summary>The serializer of a type that is known at run time only.</summary>
internal abstract class AnySerializer
{
    private static readonly ConcurrentDictionary<Type, AnySerializer> s_serializers = new();

    internal static AnySerializer Of(Type type) => s_serializers.GetOrAdd(
        type, static type => (AnySerializer)Activator.CreateInstance(typeof(AnySerializer<>).MakeGenericType(type))!);

    internal abstract void Serialize(
        ref MessagePackWriter writer, object? value, MessagePackSerializerOptions? options);

    internal abstract object? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions? options);
}
