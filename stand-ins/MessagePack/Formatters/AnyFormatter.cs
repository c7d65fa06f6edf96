using System.Collections.Concurrent;

namespace MessagePack.Formatters;

/// <summary>Writes and reads values of a type that is known at run time only.</summary>
internal abstract class AnyFormatter
{
    private static readonly ConcurrentDictionary<Type, AnyFormatter> s_formatters = new();

    internal static AnyFormatter Of(Type type) => s_formatters.GetOrAdd(
        type, static type => (AnyFormatter)Activator.CreateInstance(typeof(AnyFormatter<>).MakeGenericType(type))!);

    internal abstract void Serialize(ref MessagePackWriter writer, object? value, MessagePackSerializerOptions options);

    internal abstract object? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options);

    /// <summary>The formatter itself, which is that of the resolver.</summary>
    internal abstract object? Find(IFormatterResolver resolver);
}
