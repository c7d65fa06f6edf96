using System.Collections;

namespace MessagePack.Formatters;

/// <summary>
/// Writes objects as what they are, and reads what there is: numbers as the type of their code, arrays and maps of
/// objects.
/// </summary>
internal sealed class PrimitiveObjectFormatter : IMessagePackFormatter<object?>
{
    internal static readonly PrimitiveObjectFormatter Instance = new();

    private PrimitiveObjectFormatter()
    {
    }

    public void Serialize(ref MessagePackWriter writer, object? value, MessagePackSerializerOptions options)
    {
        switch (value)
        {
            case null:
                writer.WriteNil();
                break;
            case object when value.GetType() == typeof(object):
                writer.WriteMapHeader(0);
                break;
            case Hashtable map:
                WriteMap(ref writer, map, options);
                break;
            default:
                AnyFormatter.Of(value.GetType()).Serialize(ref writer, value, options);
                break;
        }
    }

    public object? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options)
    {
        switch (reader.NextMessagePackType)
        {
            case MessagePackType.Nil:
                reader.ReadNil();
                return null;
            case MessagePackType.Boolean:
                return reader.ReadBoolean();
            case MessagePackType.Integer:
                return ReadInteger(ref reader);
            case MessagePackType.Float:
                return reader.NextCode == MessagePackCode.Float32 ? (object)reader.ReadSingle() : reader.ReadDouble();
            case MessagePackType.String:
                return reader.ReadString();
            case MessagePackType.Binary:
                return ScalarFormatters.ReadBytes(ref reader);
            case MessagePackType.Array:
                return Elements.Read<object?>(ref reader, this, options);
            case MessagePackType.Map:
                return ReadMap(ref reader, options);
            case MessagePackType.Extension:
                return ReadExtension(ref reader);
            default:
                throw new MessagePackSerializationException("Invalid primitive bytes.");
        }
    }

    private static object ReadInteger(ref MessagePackReader reader) => reader.NextCode switch
    {
        MessagePackCode.UInt8 or <= MessagePackCode.MaxFixInt => reader.ReadByte(),
        MessagePackCode.UInt16 => reader.ReadUInt16(),
        MessagePackCode.UInt32 => reader.ReadUInt32(),
        MessagePackCode.UInt64 => reader.ReadUInt64(),
        MessagePackCode.Int16 => reader.ReadInt16(),
        MessagePackCode.Int32 => reader.ReadInt32(),
        MessagePackCode.Int64 => reader.ReadInt64(),
        _ => reader.ReadSByte(),
    };

    private static DateTime ReadExtension(ref MessagePackReader reader)
    {
        ExtensionHeader header = reader.ReadExtensionFormatHeader();
        return header.TypeCode == ReservedMessagePackExtensionTypeCode.DateTime
            ? reader.ReadDateTime(header)
            : throw new MessagePackSerializationException("Invalid primitive bytes.");
    }

    private static void WriteMap(ref MessagePackWriter writer, Hashtable map, MessagePackSerializerOptions options)
    {
        writer.WriteMapHeader(map.Count);
        foreach (DictionaryEntry entry in map)
        {
            Instance.Serialize(ref writer, entry.Key, options);
            Instance.Serialize(ref writer, entry.Value, options);
        }
    }

    private Dictionary<object, object?> ReadMap(ref MessagePackReader reader, MessagePackSerializerOptions options)
    {
        int count = reader.ReadMapHeader();
        var map = new Dictionary<object, object?>(count, options.Security.GetEqualityComparer<object>());
        options.Security.DepthStep(ref reader);
        try
        {
            for (int i = 0; i < count; i++)
            {
                object? key = Deserialize(ref reader, options);
                map.Add(key!, Deserialize(ref reader, options));
            }
        }
        finally
        {
            reader.Depth--;
        }

        return map;
    }
}
