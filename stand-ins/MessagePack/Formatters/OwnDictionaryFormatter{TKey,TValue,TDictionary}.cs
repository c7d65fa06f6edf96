namespace MessagePack.Formatters;

/// <summary>Writes somebody's own dictionary, which can be made empty and added to.</summary>
internal sealed class OwnDictionaryFormatter<TKey, TValue, TDictionary> : IMessagePackFormatter<TDictionary?>
    where TKey : notnull
    where TDictionary : IDictionary<TKey, TValue>, new()
{
    private static readonly DictionaryFormatter<TKey, TValue, IDictionary<TKey, TValue>> s_inner =
        new(entries => entries);

    public void Serialize(ref MessagePackWriter writer, TDictionary? value, MessagePackSerializerOptions options) =>
        s_inner.Serialize(ref writer, value, options);

    public TDictionary? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options)
    {
        if (s_inner.Deserialize(ref reader, options) is not { } entries)
        {
            return default;
        }

        var dictionary = new TDictionary();
        foreach (KeyValuePair<TKey, TValue> entry in entries)
        {
            dictionary.Add(entry.Key, entry.Value);
        }

        return dictionary;
    }
}
