using System.Globalization;
using System.Text.Json;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace RpcOverShm.Tool.Json;

/// <summary>Turns the bytes of a single value that is no message into JSON.</summary>
internal static class ScalarDecoder
{
    /// <summary>Writes a value; the default of its type if <paramref name="value"/> is the default.</summary>
    public static void Write(Utf8JsonWriter writer, FieldDescriptor field, WireValue value)
    {
        switch (field.FieldType)
        {
            case FieldType.Bool:
                writer.WriteBooleanValue(value.Number != 0);
                break;
            case FieldType.String:
                writer.WriteStringValue(value.Bytes?.ToStringUtf8() ?? "");
                break;
            case FieldType.Bytes:
                writer.WriteBase64StringValue((value.Bytes ?? ByteString.Empty).Span);
                break;
            case FieldType.Enum:
                WriteEnum(writer, field, (int)value.Number);
                break;
            case FieldType.Double:
                WriteDouble(writer, BitConverter.UInt64BitsToDouble(value.Number));
                break;
            case FieldType.Float:
                WriteFloat(writer, BitConverter.UInt32BitsToSingle((uint)value.Number));
                break;
            default:
                WriteWhole(writer, field.FieldType, value.Number);
                break;
        }
    }

    /// <summary>Returns the key of a map's entry as text.</summary>
    public static string KeyOf(FieldDescriptor field, WireValue value) => field.FieldType switch
    {
        FieldType.Bool => value.Number != 0 ? "true" : "false",
        FieldType.String => value.Bytes?.ToStringUtf8() ?? "",
        _ => Whole(field.FieldType, value.Number).ToString(CultureInfo.InvariantCulture),
    };

    /// <summary>Whether a value is the default of a field without presence.</summary>
    public static bool IsDefault(FieldDescriptor field, WireValue value) => field.FieldType switch
    {
        FieldType.Bytes or FieldType.String => value.Bytes.IsEmpty,
        FieldType.Bool or FieldType.Double or FieldType.Float => value.Number == 0,
        FieldType.Enum => (int)value.Number == 0,
        _ => Whole(field.FieldType, value.Number) == 0,
    };

    /// <summary>Returns the values of a packed run, or the value itself.</summary>
    public static IEnumerable<WireValue> Unpacked(FieldDescriptor field, WireValue value)
    {
        if (value.Type != WireFormat.WireType.LengthDelimited || !WireTypes.IsPackable(field))
        {
            return [value];
        }

        var values = new List<WireValue>();
        CodedInputStream input = value.Bytes.CreateCodedInput();
        WireFormat.WireType type = WireTypes.Of(field.FieldType);
        while (!input.IsAtEnd)
        {
            ulong number = type switch
            {
                WireFormat.WireType.Fixed32 => input.ReadFixed32(),
                WireFormat.WireType.Fixed64 => input.ReadFixed64(),
                _ => input.ReadUInt64(),
            };
            values.Add(value with { Type = type, Number = number, Bytes = ByteString.Empty });
        }

        return values;
    }

    private static void WriteEnum(Utf8JsonWriter writer, FieldDescriptor field, int number)
    {
        if (WireTypes.IsNullEnum(field))
        {
            writer.WriteNullValue();
        }
        else if (field.EnumType.FindValueByNumber(number) is { } known)
        {
            writer.WriteStringValue(known.Name);
        }
        else
        {
            writer.WriteNumberValue(number);
        }
    }

    private static void WriteDouble(Utf8JsonWriter writer, double value)
    {
        if (double.IsFinite(value))
        {
            writer.WriteNumberValue(value);
        }
        else
        {
            writer.WriteStringValue(value.ToString(CultureInfo.InvariantCulture));
        }
    }

    private static void WriteFloat(Utf8JsonWriter writer, float value)
    {
        if (float.IsFinite(value))
        {
            writer.WriteNumberValue(value);
        }
        else
        {
            writer.WriteStringValue(value.ToString(CultureInfo.InvariantCulture));
        }
    }

    // JSON's numbers are doubles to many programs, so whole numbers of 64 bits stand in quotes.
    private static void WriteWhole(Utf8JsonWriter writer, FieldType type, ulong bits)
    {
        Int128 value = Whole(type, bits);
        if (WireTypes.RangeOf(type).Most > uint.MaxValue)
        {
            writer.WriteStringValue(value.ToString(CultureInfo.InvariantCulture));
        }
        else
        {
            writer.WriteNumberValue((long)value);
        }
    }

    private static Int128 Whole(FieldType type, ulong bits) => type switch
    {
        FieldType.Int32 or FieldType.SFixed32 => (int)bits,
        FieldType.SInt32 => (int)ZigZag((uint)bits),
        FieldType.UInt32 or FieldType.Fixed32 => (uint)bits,
        FieldType.Int64 or FieldType.SFixed64 => (long)bits,
        FieldType.SInt64 => ZigZag(bits),
        _ => bits,
    };

    private static long ZigZag(ulong bits) => (long)(bits >> 1) ^ -(long)(bits & 1);
}
