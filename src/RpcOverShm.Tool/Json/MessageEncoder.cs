using System.Text.Json;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Json;

/// <summary>
/// Turns JSON into the bytes of a message whose type is known by its descriptor only. What JSON a field takes is what
/// Protobuf's JSON mapping says. Thread-safe if the search for types is.
/// </summary>
/// <param name="findType">Returns the type of a message in an Any by its full name; null if it is unknown.</param>
internal sealed partial class MessageEncoder(Func<string, MessageDescriptor?> findType)
{
    /// <summary>Returns the bytes of a message.</summary>
    /// <exception cref="JsonInputException">The JSON does not fit the type.</exception>
    public byte[] Encode(JsonElement json, MessageDescriptor type) =>
        Encoded(output => WriteBody(output, json, type, FieldPath.Root)).ToByteArray();

    private void WriteBody(CodedOutputStream output, JsonElement json, MessageDescriptor type, FieldPath path)
    {
        if (path.Depth > FieldPath.MaxDepth)
        {
            throw new JsonInputException(path, $"expected at most {FieldPath.MaxDepth} messages inside each other");
        }

        if (type.FullName == WellKnownTypes.Any)
        {
            WriteAny(output, json, path);
        }
        else if (WellKnownTypes.IsWrapper(type))
        {
            WriteSingle(output, type.FindFieldByNumber(WireTypes.WrapperValueNumber), json, path);
        }
        else if (WellKnownTypes.HasForm(type))
        {
            WellKnownTypes.Parse(json, type, path).WriteTo(output);
        }
        else
        {
            WriteFields(output, json, type, path);
        }
    }

    private void WriteFields(CodedOutputStream output, JsonElement json, MessageDescriptor type, FieldPath path)
    {
        if (json.ValueKind != JsonValueKind.Object)
        {
            throw JsonInputException.Unexpected(path, JsonWords.Message(type), json);
        }

        WriteFields(output, json.EnumerateObject(), type, path);
    }

    private void WriteFields(
        CodedOutputStream output, IEnumerable<JsonProperty> properties, MessageDescriptor type, FieldPath path)
    {
        var given = new HashSet<FieldDescriptor>();
        var present = new HashSet<FieldDescriptor>();
        var chosen = new Dictionary<OneofDescriptor, FieldDescriptor>();
        foreach (JsonProperty property in properties)
        {
            FieldDescriptor field = FindField(type, property.Name, path);
            FieldPath place = path.Field(property.Name);
            if (!given.Add(field))
            {
                throw new JsonInputException(place, "this field stands twice in its object");
            }

            if (IsAbsent(field, property.Value))
            {
                continue;
            }

            if (field.RealContainingOneof is { } oneof && !chosen.TryAdd(oneof, field))
            {
                throw new JsonInputException(
                    place,
                    $"'{chosen[oneof].JsonName}' is given too, and only one field of '{oneof.Name}' may be");
            }

            present.Add(field);
            WriteField(output, field, property.Value, place);
        }

        CheckRequired(type, present, path);
    }

    private void WriteField(CodedOutputStream output, FieldDescriptor field, JsonElement json, FieldPath path)
    {
        if (field.IsMap)
        {
            WriteMap(output, field, json, path);
        }
        else if (field.IsRepeated)
        {
            WriteList(output, field, json, path);
        }
        else
        {
            WriteSingle(output, field, json, path);
        }
    }

    private void WriteMap(CodedOutputStream output, FieldDescriptor field, JsonElement json, FieldPath path)
    {
        if (json.ValueKind != JsonValueKind.Object)
        {
            throw JsonInputException.Unexpected(path, JsonWords.Allowed(field), json);
        }

        FieldDescriptor keyField = field.MessageType.FindFieldByNumber(WireTypes.MapKeyNumber);
        FieldDescriptor valueField = field.MessageType.FindFieldByNumber(WireTypes.MapValueNumber);
        var keys = new HashSet<ByteString>();
        foreach (JsonProperty property in json.EnumerateObject())
        {
            FieldPath place = path.Key(property.Name);
            ByteString key = Encoded(entry => ScalarEncoder.WriteKey(entry, keyField, property.Name, place));
            if (!keys.Add(key))
            {
                throw new JsonInputException(place, "this key stands twice in its object");
            }

            CheckElement(valueField, property.Value, place);
            output.WriteTag(field.FieldNumber, WireFormat.WireType.LengthDelimited);
            output.WriteBytes(Encoded(entry =>
            {
                ScalarEncoder.WriteKey(entry, keyField, property.Name, place);
                WriteSingle(entry, valueField, property.Value, place);
            }));
        }
    }

    private void WriteList(CodedOutputStream output, FieldDescriptor field, JsonElement json, FieldPath path)
    {
        if (json.ValueKind != JsonValueKind.Array)
        {
            throw JsonInputException.Unexpected(path, JsonWords.Allowed(field), json);
        }

        bool isPacked = field.IsPacked && WireTypes.IsPackable(field);
        if (isPacked && json.GetArrayLength() > 0)
        {
            output.WriteTag(field.FieldNumber, WireFormat.WireType.LengthDelimited);
            output.WriteBytes(Encoded(run => WriteElements(run, ScalarEncoder.Write)));
        }
        else
        {
            WriteElements(output, WriteSingle);
        }

        void WriteElements(
            CodedOutputStream to, Action<CodedOutputStream, FieldDescriptor, JsonElement, FieldPath> write)
        {
            foreach ((int index, JsonElement element) in json.EnumerateArray().Index())
            {
                FieldPath place = path.Index(index);
                CheckElement(field, element, place);
                write(to, field, element, place);
            }
        }
    }

    private void WriteSingle(CodedOutputStream output, FieldDescriptor field, JsonElement json, FieldPath path)
    {
        output.WriteTag(field.FieldNumber, WireTypes.Of(field.FieldType));
        switch (field.FieldType)
        {
            case FieldType.Message:
                output.WriteBytes(Encoded(body => WriteBody(body, json, field.MessageType, path)));
                break;
            case FieldType.Group:
                WriteBody(output, json, field.MessageType, path);
                output.WriteTag(field.FieldNumber, WireFormat.WireType.EndGroup);
                break;
            default:
                ScalarEncoder.Write(output, field, json, path);
                break;
        }
    }

    // JSON's null stands for an absent field, unless it is a value of the field's type.
    private static bool IsAbsent(FieldDescriptor field, JsonElement json) =>
        json.ValueKind == JsonValueKind.Null && (field.IsRepeated || !WireTypes.TakesNull(field));

    private static void CheckElement(FieldDescriptor field, JsonElement json, FieldPath path)
    {
        if (json.ValueKind == JsonValueKind.Null && !WireTypes.TakesNull(field))
        {
            throw JsonInputException.Unexpected(path, JsonWords.Single(field), json);
        }
    }

    private static void CheckRequired(MessageDescriptor type, HashSet<FieldDescriptor> present, FieldPath path)
    {
        IEnumerable<FieldDescriptor> required = type.Fields.InDeclarationOrder().Where(field => field.IsRequired);
        if (required.FirstOrDefault(field => !present.Contains(field)) is { } lack)
        {
            throw new JsonInputException(
                path, $"the field '{lack.JsonName}' of {type.FullName} is required: {JsonWords.Allowed(lack)}");
        }
    }

    private static FieldDescriptor FindField(MessageDescriptor type, string name, FieldPath path)
    {
        IList<FieldDescriptor> fields = type.Fields.InDeclarationOrder();
        if ((fields.FirstOrDefault(field => field.JsonName == name)
            ?? fields.FirstOrDefault(field => field.Name == name)) is { } found)
        {
            return found;
        }

        string[] names = [.. fields.Select(field => field.JsonName)];
        string advice = names.Length == 0 ? "It has no fields." : NearestNames.Advice(name, names, "Its fields are");
        throw new JsonInputException(path, $"{type.FullName} has no field '{name}'. {advice}");
    }

    private static ByteString Encoded(Action<CodedOutputStream> write)
    {
        using var buffer = new MemoryStream();
        using var output = new CodedOutputStream(buffer);
        write(output);
        output.Flush();
        return UnsafeByteOperations.UnsafeWrap(buffer.ToArray());
    }
}
