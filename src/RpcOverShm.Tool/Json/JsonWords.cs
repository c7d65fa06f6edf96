using System.Globalization;
using System.Text.Json;
using Google.Protobuf.Reflection;

namespace RpcOverShm.Tool.Json;

/// <summary>The words for what JSON may have at a place, and for what it has there.</summary>
internal static class JsonWords
{
    private const int MaxNames = 10;
    private const int MaxTextLength = 40;

    /// <summary>Returns what a field takes: a list, an object with keys, or a single value.</summary>
    public static string Allowed(FieldDescriptor field) => field switch
    {
        { IsMap: true } => "an object whose values are "
            + Plural(field.MessageType.FindFieldByNumber(WireTypes.MapValueNumber)),
        { IsRepeated: true } => $"a list of {Plural(field)}",
        _ => Single(field),
    };

    /// <summary>Returns what one value of a field may be.</summary>
    public static string Single(FieldDescriptor field) => field.FieldType switch
    {
        FieldType.Bool => "true or false",
        FieldType.String => "a string",
        FieldType.Bytes => "a string with the bytes as base64",
        FieldType.Enum => $"one of {NamesOf(field.EnumType)}, or a number",
        FieldType.Float or FieldType.Double => "a number, or one of the strings NaN, Infinity and -Infinity",
        FieldType.Message or FieldType.Group => Message(field.MessageType),
        _ => WholeNumber(field.FieldType),
    };

    /// <summary>Returns the JSON form of a type of messages.</summary>
    public static string Message(MessageDescriptor type) =>
        WellKnownTypes.IsWrapper(type) ? Single(type.FindFieldByNumber(WireTypes.WrapperValueNumber))
        : WellKnownTypes.AllowedIn(type) ?? $"an object with the fields of {type.FullName}";

    /// <summary>Returns the range of a type of whole numbers.</summary>
    public static string WholeNumber(FieldType type)
    {
        (Int128 least, Int128 most) = WireTypes.RangeOf(type);
        return string.Create(CultureInfo.InvariantCulture, $"a whole number from {least} to {most}");
    }

    /// <summary>Returns what stands in the JSON.</summary>
    public static string Found(JsonElement json) => json.ValueKind switch
    {
        JsonValueKind.Object => "an object",
        JsonValueKind.Array => "a list",
        JsonValueKind.Number => $"the number {Shortened(json.GetRawText())}",
        JsonValueKind.String => $"the string {Shortened(json.GetRawText())}",
        JsonValueKind.True => "true",
        JsonValueKind.False => "false",
        _ => "null",
    };

    private static string Plural(FieldDescriptor field) => field.FieldType switch
    {
        FieldType.Bool => "true and false",
        FieldType.String => "strings",
        FieldType.Bytes => "strings with bytes as base64",
        FieldType.Enum => $"names of {field.EnumType.FullName}",
        FieldType.Float or FieldType.Double => "numbers",
        FieldType.Message or FieldType.Group => $"{field.MessageType.FullName}, each {Message(field.MessageType)}",
        _ => "whole numbers",
    };

    private static string NamesOf(EnumDescriptor type)
    {
        IEnumerable<string> names = type.Values.Select(value => value.Name);
        string told = string.Join(", ", names.Take(MaxNames));
        return type.Values.Count > MaxNames ? $"{told} and {type.Values.Count - MaxNames} more" : told;
    }

    private static string Shortened(string text) =>
        text.Length <= MaxTextLength ? text : text[..MaxTextLength] + "…";
}
