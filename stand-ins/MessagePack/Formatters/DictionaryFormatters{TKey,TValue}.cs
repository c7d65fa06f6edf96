using System.Collections.Concurrent;
using System.Collections.ObjectModel;

namespace MessagePack.Formatters;

/// <summary>The dictionaries of one type of key and value.</summary>
internal sealed class DictionaryFormatters<TKey, TValue> : IFormatterSource
    where TKey : notnull
{
    private static readonly Dictionary<Type, Func<IMessagePackFormatter>> s_formatters = new()
    {
        [typeof(Dictionary<TKey, TValue>)] = () => Of(entries => entries),
        [typeof(IDictionary<TKey, TValue>)] = () => Of<IDictionary<TKey, TValue>>(entries => entries),
        [typeof(IReadOnlyDictionary<TKey, TValue>)] = () => Of<IReadOnlyDictionary<TKey, TValue>>(entries => entries),
        [typeof(ReadOnlyDictionary<TKey, TValue>)] = () => Of(entries => new ReadOnlyDictionary<TKey, TValue>(entries)),
        [typeof(SortedDictionary<TKey, TValue>)] = () => Of(entries => new SortedDictionary<TKey, TValue>(entries)),
        [typeof(SortedList<TKey, TValue>)] = () => Of(entries => new SortedList<TKey, TValue>(entries)),
        [typeof(ConcurrentDictionary<TKey, TValue>)] = () => Of(
            entries => new ConcurrentDictionary<TKey, TValue>(entries, entries.Comparer)),
    };

    public IMessagePackFormatter? Create(Type type) => s_formatters.GetValueOrDefault(type)?.Invoke();

    private static DictionaryFormatter<TKey, TValue, TDictionary> Of<TDictionary>(
        Func<Dictionary<TKey, TValue>, TDictionary> make)
        where TDictionary : class, IEnumerable<KeyValuePair<TKey, TValue>> => new(make);
}
