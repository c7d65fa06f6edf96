namespace MessagePack.Formatters;

/// <summary>Writes the value, which is made for it; what is read is there from the beginning.</summary>
internal sealed class LazyFormatter<T> : IMessagePackFormatter<Lazy<T>?>
{
    public void Serialize(ref MessagePackWriter writer, Lazy<T>? value, MessagePackSerializerOptions options)
    {
        if (value is null)
        {
            writer.WriteNil();
        }
        else
        {
            options.Resolver.GetFormatterWithVerify<T>().Serialize(ref writer, value.Value, options);
        }
    }

    public Lazy<T>? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options)
    {
        if (reader.TryReadNil())
        {
            return null;
        }

        T value = options.Resolver.GetFormatterWithVerify<T>().Deserialize(ref reader, options);
        return new Lazy<T>(() => value);
    }
}
