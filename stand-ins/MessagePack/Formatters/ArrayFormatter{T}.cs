namespace MessagePack.Formatters;

/// <summary>Writes an array of one dimension.</summary>
internal sealed class ArrayFormatter<T> : IMessagePackFormatter<T[]?>
{
    public void Serialize(ref MessagePackWriter writer, T[]? value, MessagePackSerializerOptions options)
    {
        if (value is null)
        {
            writer.WriteNil();
        }
        else
        {
            Elements.Write(ref writer, (ReadOnlySpan<T>)value, options);
        }
    }

    public T[]? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
        reader.TryReadNil() ? null : Elements.Read<T>(ref reader, options);
}
