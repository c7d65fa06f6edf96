using System.Collections.Concurrent;
using System.Collections.ObjectModel;

namespace MessagePack.Formatters;

/// <summary>The dictionaries of one type of key and value.</summary>
internal sealed class DictionaryFormatters<TKey, TValue> : IFormatterSource
    where TKey : notnull
{
    private static readonly Dictionary<Type, Func<IMessagePackFormatter>> s_formatters = new()
    {
        [typeof(Dictionary<TKey, TValue>)] = () => Hashed(entries => entries),
        [typeof(IDictionary<TKey, TValue>)] = () => Hashed<IDictionary<TKey, TValue>>(entries => entries),
        [typeof(IReadOnlyDictionary<TKey, TValue>)] = () => Hashed<IReadOnlyDictionary<TKey, TValue>>(
            entries => entries),
        [typeof(ReadOnlyDictionary<TKey, TValue>)] = () => Hashed(
            entries => new ReadOnlyDictionary<TKey, TValue>(entries)),
        [typeof(SortedDictionary<TKey, TValue>)] = () => Sorted(entries => entries),
        [typeof(SortedList<TKey, TValue>)] = () => Sorted(entries => new SortedList<TKey, TValue>(entries)),
        [typeof(ConcurrentDictionary<TKey, TValue>)] = Concurrent,
    };

    public IMessagePackFormatter? Create(Type type) => s_formatters.GetValueOrDefault(type)?.Invoke();

    private static DictionaryFormatter<TKey, TValue, Dictionary<TKey, TValue>, TDictionary> Hashed<TDictionary>(
        Func<Dictionary<TKey, TValue>, TDictionary> complete)
        where TDictionary : class, IEnumerable<KeyValuePair<TKey, TValue>> =>
        new((count, comparer) => new Dictionary<TKey, TValue>(count, comparer), complete);

    /// <summary>Those that compare; a list too, because to put entries into their places moves all behind.</summary>
    private static DictionaryFormatter<TKey, TValue, SortedDictionary<TKey, TValue>, TDictionary> Sorted<TDictionary>(
        Func<SortedDictionary<TKey, TValue>, TDictionary> complete)
        where TDictionary : class, IEnumerable<KeyValuePair<TKey, TValue>> =>
        new((_, _) => new SortedDictionary<TKey, TValue>(), complete) { IsHashed = false };

    private static DictionaryFormatter<
        TKey, TValue, ConcurrentDictionary<TKey, TValue>, ConcurrentDictionary<TKey, TValue>> Concurrent() =>
        new((_, comparer) => new ConcurrentDictionary<TKey, TValue>(comparer), entries => entries)
        {
            TakesFirst = true,
        };
}
