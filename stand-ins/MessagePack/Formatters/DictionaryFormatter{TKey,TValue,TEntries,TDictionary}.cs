namespace MessagePack.Formatters;

/// <summary>Writes any dictionary in the order in which it is enumerated, and makes it of a dictionary.</summary>
internal sealed class DictionaryFormatter<TKey, TValue, TDictionary>(
    Func<Dictionary<TKey, TValue>, TDictionary> make) : IMessagePackFormatter<TDictionary?>
    where TKey : notnull
    where TDictionary : class, IEnumerable<KeyValuePair<TKey, TValue>>
{
    public void Serialize(ref MessagePackWriter writer, TDictionary? value, MessagePackSerializerOptions options)
    {
        if (value is null)
        {
            writer.WriteNil();
            return;
        }

        IMessagePackFormatter<TKey> keys = options.Resolver.GetFormatterWithVerify<TKey>();
        IMessagePackFormatter<TValue> values = options.Resolver.GetFormatterWithVerify<TValue>();
        // One that others change meanwhile must not change in number once that was written.
        KeyValuePair<TKey, TValue>[] entries = [.. value];
        writer.WriteMapHeader(entries.Length);
        foreach (KeyValuePair<TKey, TValue> entry in entries)
        {
            writer.CancellationToken.ThrowIfCancellationRequested();
            keys.Serialize(ref writer, entry.Key, options);
            values.Serialize(ref writer, entry.Value, options);
        }
    }

    public TDictionary? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options)
    {
        if (reader.TryReadNil())
        {
            return null;
        }

        int count = reader.ReadMapHeader();
        IMessagePackFormatter<TKey> keys = options.Resolver.GetFormatterWithVerify<TKey>();
        IMessagePackFormatter<TValue> values = options.Resolver.GetFormatterWithVerify<TValue>();
        var entries = new Dictionary<TKey, TValue>(count, options.Security.GetEqualityComparer<TKey>());
        options.Security.DepthStep(ref reader);
        try
        {
            for (int i = 0; i < count; i++)
            {
                reader.CancellationToken.ThrowIfCancellationRequested();
                TKey key = keys.Deserialize(ref reader, options);
                entries.Add(key, values.Deserialize(ref reader, options));
            }
        }
        finally
        {
            reader.Depth--;
        }

        return make(entries);
    }
}
