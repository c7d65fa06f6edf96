using System.Text.Json;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;

namespace RpcOverShm.Tool.Json;

/// <summary>
/// The types of google.protobuf that have a JSON form of their own. Google.Protobuf has classes for them, which read
/// and write that form; Any and the wrappers are left to the codec, because they hold values of other types.
/// </summary>
internal static class WellKnownTypes
{
    /// <summary>The name of the type of any JSON value.</summary>
    public const string Value = "google.protobuf.Value";

    /// <summary>The name of the type that holds any message.</summary>
    public const string Any = "google.protobuf.Any";

    private const string Empty = "google.protobuf.Empty";

    private static readonly JsonParser s_parser =
        new(JsonParser.Settings.Default.WithIgnoreUnknownFields(false));

    private static readonly Dictionary<string, Form> s_forms = new Form[]
    {
        new(Timestamp.Descriptor, "a time such as \"2026-11-28T10:00:00Z\""),
        new(Duration.Descriptor, "a duration such as \"1.5s\""),
        new(FieldMask.Descriptor, "a string with paths such as \"name,address.street\""),
        new(Struct.Descriptor, "an object"),
        new(ListValue.Descriptor, "a list"),
        new(Google.Protobuf.WellKnownTypes.Value.Descriptor, "any JSON value"),
    }.ToDictionary(form => form.Type.FullName);

    private static readonly HashSet<string> s_wrappers =
    [
        .. new[]
        {
            BoolValue.Descriptor, BytesValue.Descriptor, DoubleValue.Descriptor, FloatValue.Descriptor,
            Int32Value.Descriptor, Int64Value.Descriptor, StringValue.Descriptor, UInt32Value.Descriptor,
            UInt64Value.Descriptor,
        }.Select(type => type.FullName),
    ];

    /// <summary>Whether a type wraps one value, and its JSON is that value.</summary>
    public static bool IsWrapper(MessageDescriptor type) => s_wrappers.Contains(type.FullName);

    /// <summary>Whether an Any has the JSON of this type under the key "value" instead of its fields.</summary>
    public static bool IsValueOfAny(MessageDescriptor type) =>
        HasForm(type) || IsWrapper(type) || type.FullName is Any or Empty;

    /// <summary>Whether a class of Google.Protobuf has the JSON form of a type.</summary>
    public static bool HasForm(MessageDescriptor type) => s_forms.ContainsKey(type.FullName);

    /// <summary>Returns the JSON that is allowed for a type; null if that is an object with its fields.</summary>
    public static string? AllowedIn(MessageDescriptor type) => s_forms.GetValueOrDefault(type.FullName)?.Allowed
        ?? (type.FullName == Any ? "an object with the type's URL as \"@type\" and the fields of that type" : null);

    /// <summary>Reads the JSON form of a type.</summary>
    public static IMessage Parse(JsonElement json, MessageDescriptor type, FieldPath path)
    {
        Form form = s_forms[type.FullName];
        try
        {
            return s_parser.Parse(json.GetRawText(), form.Type);
        }
        catch (Exception exception) when (exception is IOException or InvalidOperationException or ArgumentException)
        {
            throw new JsonInputException(
                path, $"expected {form.Allowed}, found {JsonWords.Found(json)} ({exception.Message})", exception);
        }
    }

    /// <summary>Writes the JSON form of a type.</summary>
    public static void Format(Utf8JsonWriter writer, ByteString bytes, MessageDescriptor type, FieldPath path)
    {
        string json;
        try
        {
            json = JsonFormatter.Default.Format(s_forms[type.FullName].Type.Parser.ParseFrom(bytes));
        }
        catch (InvalidOperationException exception)
        {
            throw new WireFormatException(path, $"this {type.FullName} has no JSON: {exception.Message}", exception);
        }

        // Parsed and written anew, because raw text would keep out of the indentation.
        using var document = JsonDocument.Parse(json, new JsonDocumentOptions { MaxDepth = JsonMessages.MaxDepth });
        document.RootElement.WriteTo(writer);
    }

    private sealed record Form(MessageDescriptor Type, string Allowed);
}
