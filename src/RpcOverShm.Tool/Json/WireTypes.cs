using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace RpcOverShm.Tool.Json;

/// <summary>Facts about the types of fields on the wire.</summary>
internal static class WireTypes
{
    public const int MapKeyNumber = 1;
    public const int MapValueNumber = 2;
    public const int WrapperValueNumber = 1;

    private const string NullEnum = "google.protobuf.NullValue";

    /// <summary>Returns how a single value of a type is written.</summary>
    public static WireFormat.WireType Of(FieldType type) => type switch
    {
        FieldType.Double or FieldType.Fixed64 or FieldType.SFixed64 => WireFormat.WireType.Fixed64,
        FieldType.Float or FieldType.Fixed32 or FieldType.SFixed32 => WireFormat.WireType.Fixed32,
        FieldType.String or FieldType.Bytes or FieldType.Message => WireFormat.WireType.LengthDelimited,
        FieldType.Group => WireFormat.WireType.StartGroup,
        _ => WireFormat.WireType.Varint,
    };

    /// <summary>Whether a repeated field may be written as one run of values.</summary>
    public static bool IsPackable(FieldDescriptor field) => field.IsRepeated
        && Of(field.FieldType) is not (WireFormat.WireType.LengthDelimited or WireFormat.WireType.StartGroup);

    /// <summary>Whether JSON's null is a value of the field, and not its absence.</summary>
    public static bool TakesNull(FieldDescriptor field) => IsNullEnum(field)
        || (field.FieldType == FieldType.Message && field.MessageType.FullName == WellKnownTypes.Value);

    public static bool IsNullEnum(FieldDescriptor field) =>
        field.FieldType == FieldType.Enum && field.EnumType.FullName == NullEnum;

    /// <summary>Returns the least and the greatest value of a type of whole numbers.</summary>
    public static (Int128 Least, Int128 Most) RangeOf(FieldType type) => type switch
    {
        FieldType.UInt32 or FieldType.Fixed32 => (uint.MinValue, uint.MaxValue),
        FieldType.UInt64 or FieldType.Fixed64 => (ulong.MinValue, ulong.MaxValue),
        FieldType.Int64 or FieldType.SInt64 or FieldType.SFixed64 => (long.MinValue, long.MaxValue),
        _ => (int.MinValue, int.MaxValue),
    };
}
