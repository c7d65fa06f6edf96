using MessagePack.Formatters;

namespace MessagePack.Resolvers;

/// <summary>Makes resolvers of formatters and other resolvers: the first that has a formatter is taken.</summary>
public static class CompositeResolver
{
    public static IFormatterResolver Create(
        IReadOnlyList<IMessagePackFormatter> formatters, IReadOnlyList<IFormatterResolver> resolvers)
    {
        ArgumentNullException.ThrowIfNull(formatters);
        ArgumentNullException.ThrowIfNull(resolvers);
        return new FirstMatchResolver([.. formatters], [.. resolvers]);
    }

    public static IFormatterResolver Create(params IFormatterResolver[] resolvers) => Create([], resolvers);

    public static IFormatterResolver Create(params IMessagePackFormatter[] formatters) => Create(formatters, []);
}
