namespace MessagePack.Formatters;

/// <summary>Writes nil for null, and else what the formatter of the value writes.</summary>
internal sealed class NullableFormatter<T> : IMessagePackFormatter<T?>
    where T : struct
{
    public void Serialize(ref MessagePackWriter writer, T? value, MessagePackSerializerOptions options)
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

    public T? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
        reader.TryReadNil()
            ? null
            : options.Resolver.GetFormatterWithVerify<T>().Deserialize(ref reader, options);
}
