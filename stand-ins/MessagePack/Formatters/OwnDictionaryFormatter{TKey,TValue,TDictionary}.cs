using System.Reflection;

namespace MessagePack.Formatters;

/// <summary>
/// Writes somebody's own dictionary, which can be made empty and added to. One that takes a number and a comparer is
/// told how to compare: keys of input that is not trusted must not be made to collide.
/// </summary>
internal sealed class OwnDictionaryFormatter<TKey, TValue, TDictionary> : IMessagePackFormatter<TDictionary?>
    where TKey : notnull
    where TDictionary : IDictionary<TKey, TValue>, new()
{
    private static readonly ConstructorInvoker? s_create =
        typeof(TDictionary).GetConstructor([typeof(int), typeof(IEqualityComparer<TKey>)]) is { } constructor
            ? ConstructorInvoker.Create(constructor)
            : null;

    private static readonly DictionaryFormatter<TKey, TValue, TDictionary, TDictionary> s_inner =
        new(Create, entries => entries);

    public void Serialize(ref MessagePackWriter writer, TDictionary? value, MessagePackSerializerOptions options) =>
        s_inner.Serialize(ref writer, value, options);

    public TDictionary? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
        s_inner.Deserialize(ref reader, options);

    private static TDictionary Create(int count, IEqualityComparer<TKey>? comparer) =>
        s_create is null ? new TDictionary() : (TDictionary)s_create.Invoke(count, comparer);
}
