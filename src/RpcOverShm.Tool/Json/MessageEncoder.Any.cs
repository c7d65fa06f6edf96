using System.Text.Json;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;

namespace RpcOverShm.Tool.Json;

/// <content>Messages of a type that the JSON names.</content>
internal sealed partial class MessageEncoder
{
    /// <summary>The key of the type's URL.</summary>
    public const string TypeKey = "@type";

    /// <summary>The key of the bytes of a message whose type is unknown.</summary>
    public const string BytesKey = "@value";

    /// <summary>The key of a type that has a JSON form of its own.</summary>
    public const string ValueKey = "value";

    private void WriteAny(CodedOutputStream output, JsonElement json, FieldPath path)
    {
        if (json.ValueKind != JsonValueKind.Object)
        {
            throw JsonInputException.Unexpected(path, WellKnownTypes.AllowedIn(Any.Descriptor)!, json);
        }

        JsonProperty[] all = [.. json.EnumerateObject()];
        JsonProperty[] others = [.. all.Where(property => property.Name != TypeKey)];
        if (all.Length == 0)
        {
            return;
        }

        string url = all.Length - others.Length == 1
            && json.GetProperty(TypeKey) is { ValueKind: JsonValueKind.String } named
            ? named.GetString()!
            : throw JsonInputException.Unexpected(path, WellKnownTypes.AllowedIn(Any.Descriptor)!, json);
        new Any { TypeUrl = url, Value = ContentOf(url, others, path) }.WriteTo(output);
    }

    private ByteString ContentOf(string url, JsonProperty[] properties, FieldPath path)
    {
        if (properties is [{ Name: BytesKey }])
        {
            return ScalarEncoder.Bytes(properties[0].Value, path.Field(BytesKey));
        }

        FieldPath place = path.Field(TypeKey);
        string name = Any.GetTypeName(url);
        if (name.Length == 0)
        {
            throw new JsonInputException(
                place, $"expected a URL that ends with a type, such as \"type.googleapis.com/a.B\", found \"{url}\"");
        }

        MessageDescriptor type = findType(name) ?? throw new JsonInputException(
            place,
            $"the server describes no type {name}; give the bytes of the message as base64 under \"{BytesKey}\"");
        if (!WellKnownTypes.IsValueOfAny(type))
        {
            return Encoded(output => WriteFields(output, properties, type, path));
        }

        return properties switch
        {
            [{ Name: ValueKey }] => Encoded(
                output => WriteBody(output, properties[0].Value, type, path.Field(ValueKey))),
            [] when type.FullName == Empty.Descriptor.FullName => ByteString.Empty,
            _ => throw new JsonInputException(
                path, $"expected \"{ValueKey}\" beside \"{TypeKey}\", with {JsonWords.Message(type)}"),
        };
    }
}
