namespace MessagePack;

internal sealed class AnySerializer<T> : AnySerializer
{
    internal override void Serialize(
        ref MessagePackWriter writer, object? value, MessagePackSerializerOptions? options) =>
        MessagePackSerializer.Serialize(ref writer, (T)value!, options);

    internal override object? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions? options) =>
        MessagePackSerializer.Deserialize<T>(ref reader, options);
}
