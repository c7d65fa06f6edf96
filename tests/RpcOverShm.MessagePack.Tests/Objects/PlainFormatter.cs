using MessagePack;
using MessagePack.Formatters;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>A user's formatter for a class without attributes.</summary>
internal sealed class PlainFormatter : IMessagePackFormatter<Plain?>
{
    public void Serialize(ref MessagePackWriter writer, Plain? value, MessagePackSerializerOptions options) =>
        writer.Write(value!.Number);

    public Plain? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
        new() { Number = reader.ReadInt32() };
}

public sealed class Plain
{
    public int Number { get; set; }
}
