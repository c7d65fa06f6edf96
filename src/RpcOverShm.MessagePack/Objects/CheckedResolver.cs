using System.Collections.Concurrent;
using MessagePack;
using MessagePack.Formatters;

namespace RpcOverShm.MessagePack.Objects;

/// <summary>
/// The resolver of the codec's options, which applies the codec's rules to every formatter that is requested, at any
/// depth of a message and by any formatter. If a type has nothing to check, its own formatter is returned. Thread-safe.
/// </summary>
internal sealed class CheckedResolver(IFormatterResolver inner) : IFormatterResolver
{
    // The described type in each type that an object has held, or null: it would be read as an array or map of its
    // members.
    private static readonly ConcurrentDictionary<Type, Type?> s_lostInObjects = new();

    private readonly Lock _gate = new();

    // Indexed by type, because the lookup happens for each member of each message.
    private object?[] _formatters = [];

    public IFormatterResolver Inner => inner;

    /// <summary>Whether the resolver writes non-public members even of types that do not allow it.</summary>
    public bool AllowsPrivate { get; } = ResolverRules.AllowsPrivate(inner);

    public IMessagePackFormatter<T>? GetFormatter<T>()
    {
        object?[] formatters = Volatile.Read(ref _formatters);
        return TypeIndex<T>.Value < formatters.Length && formatters[TypeIndex<T>.Value] is { } known
            ? (IMessagePackFormatter<T>)known
            : Find<T>();
    }

    private IMessagePackFormatter<T>? Find<T>()
    {
        IMessagePackFormatter<T>? formatter = inner.GetFormatter<T>();
        if ((formatter is null
            ? FormatterRules.WhatIsMissing(typeof(T))
            : FormatterRules.WhatIsWrong(formatter.GetType(), typeof(T))) is { } wrong)
        {
            throw new MessagePackSerializationException($"{typeof(T)} {wrong}.");
        }

        if (formatter is null)
        {
            return null;
        }

        IMessagePackFormatter<T> found = Checked(formatter);
        lock (_gate)
        {
            object?[] formatters = _formatters;
            Array.Resize(ref formatters, Math.Max(formatters.Length, TypeIndex<T>.Value + 1));
            formatters[TypeIndex<T>.Value] = found;
            Volatile.Write(ref _formatters, formatters);
        }

        return found;
    }

    private IMessagePackFormatter<T> Checked<T>(IMessagePackFormatter<T> formatter)
    {
        Type[] union = ObjectType.UnionOf(typeof(T));
        bool isDescribed = ObjectType.IsDescribed(typeof(T));
        if (typeof(T) == typeof(object))
        {
            // The objects in an object come back here when they are written.
            return new CheckedFormatter<T>(
                formatter,
                static value => s_lostInObjects.GetOrAdd(value!.GetType(), ObjectType.DescribedIn),
                findNull: null);
        }

        if ((union.Length == 0 && !isDescribed) || FormatterRules.IsOnesOwn(formatter.GetType(), typeof(T)))
        {
            return formatter;
        }

        HashSet<Type> types = union.Length > 0 ? [.. union] : [typeof(T)];
        Func<T, Type?>? findLost = typeof(T).IsSealed
            ? null
            : value => types.Contains(value!.GetType()) ? null : value.GetType();
        Func<T, string?>? findNull = union.Length > 0 ? null : ObjectType.NullFinder<T>(AllowsPrivate);
        return findLost is null && findNull is null
            ? formatter
            : new CheckedFormatter<T>(formatter, findLost, findNull);
    }

    private static class TypeIndex
    {
        private static int s_last = -1;

        public static int Next() => Interlocked.Increment(ref s_last);
    }

    private static class TypeIndex<T>
    {
        public static readonly int Value = TypeIndex.Next();
    }
}
