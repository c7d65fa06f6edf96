using MessagePack;
using MessagePack.Formatters;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>Somebody's own way to write a class that has no attributes.</summary>
internal sealed class PlainFormatter : IMessagePackFormatter<Plain?>
{
    public void Serialize(ref MessagePackWriter writer, Plain? value, MessagePackSerializerOptions options) =>
        writer.Write(value!.Number);

    public Plain? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
        new() { Number = reader.ReadInt32() };
}

/// <summary>A class without any attribute.</summary>
public sealed class Plain
{
    public int Number { get; set; }
}
