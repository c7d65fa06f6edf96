using System.Reflection;
using MessagePack.Formatters;

namespace MessagePack.Resolvers;

/// <summary>The formatters that types name themselves.</summary>
public sealed class AttributeFormatterResolver : IFormatterResolver
{
    public static readonly AttributeFormatterResolver Instance = new();

    private AttributeFormatterResolver()
    {
    }

    public IMessagePackFormatter<T>? GetFormatter<T>() => Cache<T>.Formatter;

    private static class Cache<T>
    {
        internal static readonly IMessagePackFormatter<T>? Formatter =
            typeof(T).GetCustomAttribute<MessagePackFormatterAttribute>(inherit: true) is { } attribute
                ? (IMessagePackFormatter<T>)NamedFormatter.Create(attribute, typeof(T))
                : null;
    }
}
