namespace MessagePack.Formatters;

/// <summary>Writes and reads values of one type.</summary>
public interface IMessagePackFormatter<T> : IMessagePackFormatter
{
    void Serialize(ref MessagePackWriter writer, T value, MessagePackSerializerOptions options);

    T Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options);
}
