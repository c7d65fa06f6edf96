using MessagePack.Formatters;

namespace MessagePack.Resolvers;

/// <summary>Values of .NET's own types, and arrays and lists of these.</summary>
public sealed class BuiltinResolver : IFormatterResolver
{
    public static readonly BuiltinResolver Instance = new();

    private BuiltinResolver()
    {
    }

    public IMessagePackFormatter<T>? GetFormatter<T>() => Cache<T>.Formatter;

    private static IMessagePackFormatter? Find(Type type)
    {
        if (type == typeof(object))
        {
            return PrimitiveObjectFormatter.Instance;
        }

        if (ScalarFormatters.Find(type) is { } formatter)
        {
            return formatter;
        }

        Type? inner = Nullable.GetUnderlyingType(type)
            ?? (type.IsSZArray ? type.GetElementType() : null)
            ?? (type.IsConstructedGenericType && type.GetGenericTypeDefinition() == typeof(List<>)
                ? type.GenericTypeArguments[0]
                : null);
        return inner is not null && (inner == typeof(object) || ScalarFormatters.Find(inner) is not null)
            ? GenericFormatters.Create(type)
            : null;
    }

    private static class Cache<T>
    {
        internal static readonly IMessagePackFormatter<T>? Formatter = (IMessagePackFormatter<T>?)Find(typeof(T));
    }
}
