using MessagePack.Formatters;

namespace MessagePack.Resolvers;

/// <summary>What everybody needs: .NET's own types, collections, and types that say by attributes how.</summary>
public sealed class StandardResolver : IFormatterResolver
{
    public static readonly StandardResolver Instance = new();

    public static readonly MessagePackSerializerOptions Options = new(Instance);

    private StandardResolver()
    {
    }

    public IMessagePackFormatter<T>? GetFormatter<T>() => Cache<T>.Formatter;

    private static IMessagePackFormatter? Find<T>() =>
        BuiltinResolver.Instance.GetFormatter<T>()
        ?? AttributeFormatterResolver.Instance.GetFormatter<T>()
        ?? GenericFormatters.Create(typeof(T))
        ?? (IMessagePackFormatter?)UnionFormatter<T>.CreateOrNull()
        ?? ObjectFormatter<T>.CreateOrNull();

    private static class Cache<T>
    {
        internal static readonly IMessagePackFormatter<T>? Formatter = (IMessagePackFormatter<T>?)Find<T>();
    }
}
