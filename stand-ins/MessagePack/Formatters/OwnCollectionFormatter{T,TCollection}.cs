namespace MessagePack.Formatters;

/// <summary>Writes somebody's own collection, which can be made empty and added to.</summary>
internal sealed class OwnCollectionFormatter<T, TCollection> : IMessagePackFormatter<TCollection?>
    where TCollection : ICollection<T>, new()
{
    public void Serialize(ref MessagePackWriter writer, TCollection? value, MessagePackSerializerOptions options)
    {
        if (value is null)
        {
            writer.WriteNil();
        }
        else
        {
            Elements.Write<T>(ref writer, value.ToArray(), options);
        }
    }

    public TCollection? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options)
    {
        if (reader.TryReadNil())
        {
            return default;
        }

        var collection = new TCollection();
        foreach (T element in Elements.Read<T>(ref reader, options))
        {
            collection.Add(element);
        }

        return collection;
    }
}
