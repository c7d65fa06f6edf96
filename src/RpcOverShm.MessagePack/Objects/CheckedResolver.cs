using System.Collections.Concurrent;
using MessagePack;
using MessagePack.Formatters;

namespace RpcOverShm.MessagePack.Objects;

/// <summary>
/// The resolver of a codec's options, with the codec's rules for each formatter that is asked for, at whatever depth of
/// a message and by whatever formatter. A type without anything to check has its own formatter. Thread-safe.
/// </summary>
internal sealed class CheckedResolver(IFormatterResolver inner) : IFormatterResolver
{
    // An object with members would be read as an array or a map of them.
    private static readonly ConcurrentDictionary<Type, Type?> s_lostInObjects = new();

    private readonly Lock _gate = new();

    // By the index of the type: looked up for each member of each message.
    private object?[] _formatters = [];

    public IFormatterResolver Inner => inner;

    /// <summary>True when members that are not public are written too, whatever their type says.</summary>
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
        if (inner.GetFormatter<T>() is not { } formatter)
        {
            return null;
        }

        if (FormatterRules.WhatIsWrong(formatter.GetType(), typeof(T)) is { } wrong)
        {
            throw new MessagePackSerializationException($"{typeof(T)} {wrong}.");
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
            // What it holds as objects is checked when they are written.
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
