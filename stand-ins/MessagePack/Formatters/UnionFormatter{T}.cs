using System.Reflection;

namespace MessagePack.Formatters;

/// <summary>Writes a value of one of several types as the type's number and the value.</summary>
internal sealed class UnionFormatter<T> : IMessagePackFormatter<T?>
{
    private readonly Dictionary<Type, int> _keys;
    private readonly Dictionary<int, Type> _types;

    private UnionFormatter(IEnumerable<UnionAttribute> unions)
    {
        _keys = unions.ToDictionary(union => union.SubType, union => union.Key);
        _types = unions.ToDictionary(union => union.Key, union => union.SubType);
    }

    internal static UnionFormatter<T>? CreateOrNull()
    {
        UnionAttribute[] unions = [.. typeof(T).GetCustomAttributes<UnionAttribute>(inherit: false)];
        return unions.Length == 0 ? null
            : typeof(T).IsAbstract ? new UnionFormatter<T>(unions)
            : throw new MessagePackSerializationException(
                $"Union can only be interface or abstract class. Type:{typeof(T)}");
    }

    public void Serialize(ref MessagePackWriter writer, T? value, MessagePackSerializerOptions options)
    {
        // A type that the attributes do not know is nil too.
        if (value is null || !_keys.TryGetValue(value.GetType(), out int key))
        {
            writer.WriteNil();
            return;
        }

        writer.WriteArrayHeader(2);
        writer.Write(key);
        AnyFormatter.Of(value.GetType()).Serialize(ref writer, value, options);
    }

    public T? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options)
    {
        if (reader.TryReadNil())
        {
            return default;
        }

        options.Security.DepthStep(ref reader);
        try
        {
            if (reader.ReadArrayHeader() != 2)
            {
                throw new MessagePackSerializationException($"Invalid Union data was detected. Type:{typeof(T)}");
            }

            if (_types.TryGetValue(reader.ReadInt32(), out Type? type))
            {
                return (T?)AnyFormatter.Of(type).Deserialize(ref reader, options);
            }

            reader.Skip();
            return default;
        }
        finally
        {
            reader.Depth--;
        }
    }
}
