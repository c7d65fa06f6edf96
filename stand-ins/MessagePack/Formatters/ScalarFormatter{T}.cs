namespace MessagePack.Formatters;

/// <summary>Writes values that need no options and no other formatters.</summary>
internal sealed class ScalarFormatter<T>(WriteValue<T> write, ReadValue<T> read) : IMessagePackFormatter<T>
{
    public void Serialize(ref MessagePackWriter writer, T value, MessagePackSerializerOptions options) =>
        write(ref writer, value);

    public T Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) => read(ref reader);
}
