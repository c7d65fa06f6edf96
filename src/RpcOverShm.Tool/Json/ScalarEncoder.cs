using System.Globalization;
using System.Text.Json;
using System.Text.RegularExpressions;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace RpcOverShm.Tool.Json;

/// <summary>Turns JSON into the bytes of a single value that is no message.</summary>
internal static partial class ScalarEncoder
{
    /// <summary>Writes a value without its tag.</summary>
    /// <exception cref="JsonInputException">The JSON does not fit the field.</exception>
    public static void Write(CodedOutputStream output, FieldDescriptor field, JsonElement json, FieldPath path)
    {
        switch (field.FieldType)
        {
            case FieldType.Bool:
                output.WriteBool(Boolean(json, path));
                break;
            case FieldType.String:
                output.WriteString(Text(field, json, path));
                break;
            case FieldType.Bytes:
                output.WriteBytes(Bytes(json, path));
                break;
            case FieldType.Enum:
                output.WriteEnum(EnumNumber(field, json, path));
                break;
            case FieldType.Double:
                output.WriteDouble(Double(field, json, path));
                break;
            case FieldType.Float:
                output.WriteFloat(Float(field, json, path));
                break;
            default:
                WriteWhole(output, field.FieldType, Whole(field.FieldType, json, path));
                break;
        }
    }

    /// <summary>Writes the key of a map's entry with its tag.</summary>
    /// <exception cref="JsonInputException">The text does not fit the field.</exception>
    public static void WriteKey(CodedOutputStream output, FieldDescriptor field, string text, FieldPath path)
    {
        output.WriteTag(field.FieldNumber, WireTypes.Of(field.FieldType));
        if (field.FieldType != FieldType.Bool)
        {
            Write(output, field, JsonSerializer.SerializeToElement(text), path);
        }
        else
        {
            output.WriteBool(text switch
            {
                "true" => true,
                "false" => false,
                _ => throw new JsonInputException(path, $"expected the key \"true\" or \"false\", found \"{text}\""),
            });
        }
    }

    /// <summary>Returns bytes that are given as base64, of either alphabet, with padding or without.</summary>
    /// <exception cref="JsonInputException">This is no base64.</exception>
    public static ByteString Bytes(JsonElement json, FieldPath path)
    {
        if (json.ValueKind == JsonValueKind.String)
        {
            string text = json.GetString()!.Replace('-', '+').Replace('_', '/').TrimEnd('=');
            text = text.PadRight((text.Length + 3) / 4 * 4, '=');
            try
            {
                return ByteString.FromBase64(text);
            }
            catch (FormatException)
            {
                // The exception below says more.
            }
        }

        throw JsonInputException.Unexpected(path, "a string with the bytes as base64", json);
    }

    private static bool Boolean(JsonElement json, FieldPath path) => json.ValueKind switch
    {
        JsonValueKind.True => true,
        JsonValueKind.False => false,
        _ => throw JsonInputException.Unexpected(path, "true or false", json),
    };

    private static string Text(FieldDescriptor field, JsonElement json, FieldPath path) =>
        json.ValueKind == JsonValueKind.String
            ? json.GetString()!
            : throw JsonInputException.Unexpected(path, JsonWords.Single(field), json);

    private static int EnumNumber(FieldDescriptor field, JsonElement json, FieldPath path)
    {
        if (WireTypes.IsNullEnum(field) && json.ValueKind == JsonValueKind.Null)
        {
            return 0;
        }

        int? number = json.ValueKind switch
        {
            JsonValueKind.String => field.EnumType.FindValueByName(json.GetString()!)?.Number,
            JsonValueKind.Number => (int)Whole(FieldType.Int32, json, path),
            _ => null,
        };
        return number ?? throw JsonInputException.Unexpected(path, JsonWords.Single(field), json);
    }

    private static void WriteWhole(CodedOutputStream output, FieldType type, Int128 value)
    {
        switch (type)
        {
            case FieldType.Int32:
                output.WriteInt32((int)value);
                break;
            case FieldType.SInt32:
                output.WriteSInt32((int)value);
                break;
            case FieldType.SFixed32:
                output.WriteSFixed32((int)value);
                break;
            case FieldType.UInt32:
                output.WriteUInt32((uint)value);
                break;
            case FieldType.Fixed32:
                output.WriteFixed32((uint)value);
                break;
            case FieldType.Int64:
                output.WriteInt64((long)value);
                break;
            case FieldType.SInt64:
                output.WriteSInt64((long)value);
                break;
            case FieldType.SFixed64:
                output.WriteSFixed64((long)value);
                break;
            case FieldType.UInt64:
                output.WriteUInt64((ulong)value);
                break;
            default:
                output.WriteFixed64((ulong)value);
                break;
        }
    }

    private static Int128 Whole(FieldType type, JsonElement json, FieldPath path)
    {
        (Int128 least, Int128 most) = WireTypes.RangeOf(type);
        const NumberStyles Style =
            NumberStyles.AllowLeadingSign | NumberStyles.AllowDecimalPoint | NumberStyles.AllowExponent;
        return NumberText(json) is { } text
            && Int128.TryParse(text, Style, CultureInfo.InvariantCulture, out Int128 value)
            && value >= least && value <= most
            ? value
            : throw JsonInputException.Unexpected(path, JsonWords.WholeNumber(type), json);
    }

    private static double Double(FieldDescriptor field, JsonElement json, FieldPath path) =>
        NotFinite(json) ?? (NumberText(json) is { } text
            && double.Parse(text, CultureInfo.InvariantCulture) is var value && double.IsFinite(value)
            ? value
            : throw JsonInputException.Unexpected(path, JsonWords.Single(field), json));

    private static float Float(FieldDescriptor field, JsonElement json, FieldPath path) =>
        NotFinite(json) is { } special
            ? (float)special
            : NumberText(json) is { } text
                && float.Parse(text, CultureInfo.InvariantCulture) is var value && float.IsFinite(value)
                ? value
                : throw JsonInputException.Unexpected(path, JsonWords.Single(field), json);

    private static double? NotFinite(JsonElement json) => json.ValueKind != JsonValueKind.String
        ? null
        : json.GetString() switch
        {
            "NaN" => double.NaN,
            "Infinity" => double.PositiveInfinity,
            "-Infinity" => double.NegativeInfinity,
            _ => null,
        };

    // A number may stand in quotes, if it is written as one without them would be.
    private static string? NumberText(JsonElement json) => json.ValueKind switch
    {
        JsonValueKind.Number => json.GetRawText(),
        JsonValueKind.String when json.GetString() is { } text && Number().IsMatch(text) => text,
        _ => null,
    };

    [GeneratedRegex(@"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\z")]
    private static partial Regex Number();
}
