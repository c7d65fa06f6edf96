using MessagePack.Formatters;

namespace MessagePack.Tests.Objects;

/// <summary>Writes numbers as strings.</summary>
public class Converter : IMessagePackFormatter<int>
{
    public void Serialize(ref MessagePackWriter writer, int value, MessagePackSerializerOptions options) =>
        writer.Write($"{value}");

    public int Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
        int.Parse(reader.ReadString()!, provider: null);
}
