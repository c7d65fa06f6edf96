using System.Text.Json;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;

namespace RpcOverShm.Tool.Json;

/// <summary>
/// Turns the bytes of a message whose type is known by its descriptor only into JSON, as Protobuf's JSON mapping says.
/// Fields stand in the order of their numbers. Unknown fields and extensions are left out.
/// </summary>
/// <param name="findType">Returns the type of a message in an Any by its full name; null if it is unknown.</param>
/// <param name="writesDefaults">Whether fields without presence are written if they have their default.</param>
internal sealed class MessageDecoder(Func<string, MessageDescriptor?> findType, bool writesDefaults = false)
{
    /// <summary>Writes the JSON of a message.</summary>
    /// <exception cref="WireFormatException">The bytes are not of this type, or have no JSON.</exception>
    public void Write(Utf8JsonWriter writer, ByteString bytes, MessageDescriptor type)
    {
        try
        {
            WriteMessage(writer, bytes, type, FieldPath.Root);
        }
        catch (Exception exception) when (exception is InvalidProtocolBufferException or InvalidDataException)
        {
            throw new WireFormatException(
                FieldPath.Root, $"the bytes are no {type.FullName}: {exception.Message}", exception);
        }
    }

    private void WriteMessage(Utf8JsonWriter writer, ByteString bytes, MessageDescriptor type, FieldPath path)
    {
        if (path.Depth > FieldPath.MaxDepth)
        {
            throw new WireFormatException(path, $"more than {FieldPath.MaxDepth} messages are inside each other");
        }

        if (type.FullName == WellKnownTypes.Any)
        {
            WriteAny(writer, Any.Parser.ParseFrom(bytes), path);
        }
        else if (WellKnownTypes.IsWrapper(type))
        {
            FieldDescriptor wrapped = type.FindFieldByNumber(WireTypes.WrapperValueNumber);
            ScalarDecoder.Write(writer, wrapped, WireFields.Parse(bytes).LastOf(wrapped));
        }
        else if (WellKnownTypes.HasForm(type))
        {
            WellKnownTypes.Format(writer, bytes, type, path);
        }
        else
        {
            writer.WriteStartObject();
            WriteFields(writer, bytes, type, path);
            writer.WriteEndObject();
        }
    }

    private void WriteAny(Utf8JsonWriter writer, Any any, FieldPath path)
    {
        writer.WriteStartObject();
        if (any.TypeUrl.Length > 0 || !any.Value.IsEmpty)
        {
            writer.WriteString(MessageEncoder.TypeKey, any.TypeUrl);
            string name = Any.GetTypeName(any.TypeUrl);
            if ((name.Length == 0 ? null : findType(name)) is not { } type)
            {
                writer.WriteBase64String(MessageEncoder.BytesKey, any.Value.Span);
            }
            else if (WellKnownTypes.IsValueOfAny(type))
            {
                writer.WritePropertyName(MessageEncoder.ValueKey);
                WriteMessage(writer, any.Value, type, path.Field(MessageEncoder.ValueKey));
            }
            else
            {
                WriteFields(writer, any.Value, type, path);
            }
        }

        writer.WriteEndObject();
    }

    private void WriteFields(Utf8JsonWriter writer, ByteString bytes, MessageDescriptor type, FieldPath path)
    {
        WireFields fields = WireFields.Parse(bytes);
        foreach (FieldDescriptor field in type.Fields.InFieldNumberOrder())
        {
            IReadOnlyList<WireValue> values = fields.ValuesOf(field);
            FieldPath place = path.Field(field.JsonName);
            if (field.IsMap)
            {
                WriteMap(writer, field, values, place);
            }
            else if (field.IsRepeated)
            {
                WriteList(writer, field, values, place);
            }
            else if (IsWritten(field, values))
            {
                writer.WritePropertyName(field.JsonName);
                WriteSingle(writer, field, values, place);
            }
        }
    }

    private void WriteMap(
        Utf8JsonWriter writer, FieldDescriptor field, IReadOnlyList<WireValue> values, FieldPath path)
    {
        if (values.Count == 0 && !writesDefaults)
        {
            return;
        }

        FieldDescriptor keyField = field.MessageType.FindFieldByNumber(WireTypes.MapKeyNumber);
        FieldDescriptor valueField = field.MessageType.FindFieldByNumber(WireTypes.MapValueNumber);

        // Of several entries with one key, the last one counts.
        var entries = new OrderedDictionary<string, IReadOnlyList<WireValue>>();
        foreach (WireValue value in values)
        {
            WireFields entry = WireFields.Parse(value.Bytes);
            string key = ScalarDecoder.KeyOf(keyField, entry.LastOf(keyField));
            entries[key] = entry.ValuesOf(valueField);
        }

        writer.WriteStartObject(field.JsonName);
        foreach ((string key, IReadOnlyList<WireValue> one) in entries)
        {
            writer.WritePropertyName(key);
            WriteSingle(writer, valueField, one, path.Key(key));
        }

        writer.WriteEndObject();
    }

    private void WriteList(
        Utf8JsonWriter writer, FieldDescriptor field, IReadOnlyList<WireValue> values, FieldPath path)
    {
        WireValue[] elements = [.. values.SelectMany(value => ScalarDecoder.Unpacked(field, value))];
        if (elements.Length == 0 && !writesDefaults)
        {
            return;
        }

        writer.WriteStartArray(field.JsonName);
        foreach ((int index, WireValue element) in elements.Index())
        {
            WriteSingle(writer, field, [element], path.Index(index));
        }

        writer.WriteEndArray();
    }

    // Of a single message that is there several times, the parts are merged: their bytes in a row are the whole.
    private void WriteSingle(
        Utf8JsonWriter writer, FieldDescriptor field, IReadOnlyList<WireValue> values, FieldPath path)
    {
        if (field.FieldType is not (FieldType.Message or FieldType.Group))
        {
            ScalarDecoder.Write(writer, field, WireFields.Last(values));
        }
        else
        {
            ByteString bytes = values.Count == 1
                ? values[0].Bytes
                : ByteString.CopyFrom([.. values.SelectMany(value => value.Bytes)]);
            WriteMessage(writer, bytes, field.MessageType, path);
        }
    }

    private bool IsWritten(FieldDescriptor field, IReadOnlyList<WireValue> values) => field.HasPresence
        ? values.Count > 0
        : writesDefaults || (values.Count > 0 && !ScalarDecoder.IsDefault(field, values[^1]));
}
