using System.Collections.Concurrent;
using MessagePack.Formatters;

namespace MessagePack.Resolvers;

/// <summary>Asks its formatters and then its resolvers, in their order, and remembers the answer.</summary>
internal sealed class FirstMatchResolver(IMessagePackFormatter[] formatters, IFormatterResolver[] resolvers)
    : IFormatterResolver
{
    private readonly ConcurrentDictionary<Type, IMessagePackFormatter?> _found = new();

    public IMessagePackFormatter<T>? GetFormatter<T>()
    {
        if (!_found.TryGetValue(typeof(T), out IMessagePackFormatter? formatter))
        {
            formatter = Find<T>();
            _found[typeof(T)] = formatter;
        }

        return (IMessagePackFormatter<T>?)formatter;
    }

    private IMessagePackFormatter<T>? Find<T>() =>
        formatters.OfType<IMessagePackFormatter<T>>().FirstOrDefault()
        ?? resolvers.Select(resolver => resolver.GetFormatter<T>()).FirstOrDefault(found => found is not null);
}
