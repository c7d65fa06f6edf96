using System.Runtime.InteropServices;

namespace MessagePack.Formatters;

/// <summary>Writes any collection in the order in which it is enumerated, and makes it of an array.</summary>
internal sealed class CollectionFormatter<T, TCollection>(
    Func<T[], MessagePackSerializerOptions, TCollection> make) : IMessagePackFormatter<TCollection?>
    where TCollection : class, IEnumerable<T>
{
    public void Serialize(ref MessagePackWriter writer, TCollection? value, MessagePackSerializerOptions options)
    {
        switch (value)
        {
            case null:
                writer.WriteNil();
                break;
            case List<T> list:
                Elements.Write<T>(ref writer, CollectionsMarshal.AsSpan(list), options);
                break;
            default:
                // Others may change in number while they are counted.
                Elements.Write<T>(ref writer, value.ToArray(), options);
                break;
        }
    }

    public TCollection? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
        reader.TryReadNil() ? null : make(Elements.Read<T>(ref reader, options), options);
}
