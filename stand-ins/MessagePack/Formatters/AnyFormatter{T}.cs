namespace MessagePack.Formatters;

internal sealed class AnyFormatter<T> : AnyFormatter
{
    internal override void Serialize(
        ref MessagePackWriter writer, object? value, MessagePackSerializerOptions options) =>
        options.Resolver.GetFormatterWithVerify<T>().Serialize(ref writer, (T)value!, options);

    internal override object? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
        options.Resolver.GetFormatterWithVerify<T>().Deserialize(ref reader, options);

    internal override object? Find(IFormatterResolver resolver) => resolver.GetFormatter<T>();
}
