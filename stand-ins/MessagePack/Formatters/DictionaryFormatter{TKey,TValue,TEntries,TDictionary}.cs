namespace MessagePack.Formatters;

/// <summary>Writes any dictionary in the order in which it is enumerated, and makes it of its entries.</summary>
/// <param name="create">Makes what the entries are collected in, which may be the dictionary itself.</param>
/// <param name="complete">Makes the dictionary of it.</param>
internal sealed class DictionaryFormatter<TKey, TValue, TEntries, TDictionary>(
    Func<int, IEqualityComparer<TKey>?, TEntries> create,
    Func<TEntries, TDictionary> complete) : IMessagePackFormatter<TDictionary?>
    where TKey : notnull
    where TEntries : IDictionary<TKey, TValue>
    where TDictionary : IEnumerable<KeyValuePair<TKey, TValue>>
{
    /// <summary>Whether keys are hashed, so that input may choose them to collide.</summary>
    internal bool IsHashed { get; init; } = true;

    /// <summary>Whether of two entries with one key the first is taken; else that is an error.</summary>
    internal bool TakesFirst { get; init; }

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
            return default;
        }

        int count = reader.ReadMapHeader();
        IMessagePackFormatter<TKey> keys = options.Resolver.GetFormatterWithVerify<TKey>();
        IMessagePackFormatter<TValue> values = options.Resolver.GetFormatterWithVerify<TValue>();
        TEntries entries = create(count, IsHashed ? options.Security.GetEqualityComparer<TKey>() : null);
        options.Security.DepthStep(ref reader);
        try
        {
            for (int i = 0; i < count; i++)
            {
                reader.CancellationToken.ThrowIfCancellationRequested();
                TKey key = keys.Deserialize(ref reader, options);
                Add(entries, key, values.Deserialize(ref reader, options));
            }
        }
        finally
        {
            reader.Depth--;
        }

        return complete(entries);
    }

    private void Add(TEntries entries, TKey key, TValue value)
    {
        if (!TakesFirst || !entries.ContainsKey(key))
        {
            entries.Add(key, value);
        }
    }
}
