using MessagePack.Formatters;

namespace MessagePack.Tests.Objects;

/// <summary>Writes a temperature as a string, in front of which stands what the formatter was made with.</summary>
public class TemperatureFormatter : IMessagePackFormatter<Temperature?>
{
    private readonly string _prefix;

    public TemperatureFormatter()
        : this("t")
    {
    }

    public TemperatureFormatter(string prefix)
    {
        _prefix = prefix;
    }

    public void Serialize(ref MessagePackWriter writer, Temperature? value, MessagePackSerializerOptions options) =>
        writer.Write(value is null ? null : $"{_prefix}{value.Degrees}");

    public Temperature? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
        reader.ReadString() is { } text
            ? new Temperature(int.Parse(text.AsSpan(_prefix.Length), provider: null))
            : null;
}
