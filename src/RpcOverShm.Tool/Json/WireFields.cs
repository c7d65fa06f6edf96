using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace RpcOverShm.Tool.Json;

/// <summary>The values of a message's bytes, by the numbers of their fields.</summary>
internal sealed class WireFields
{
    private readonly Dictionary<int, List<WireValue>> _values = [];
    private int _count;

    private WireFields()
    {
    }

    /// <summary>Reads the bytes of a message. Those of a group are read like those of a message.</summary>
    /// <exception cref="InvalidProtocolBufferException">The bytes are malformed.</exception>
    /// <exception cref="InvalidDataException">The bytes end within a group.</exception>
    public static WireFields Parse(ByteString bytes)
    {
        var fields = new WireFields();
        CodedInputStream input = bytes.CreateCodedInput();
        while (input.ReadTag() is var tag && tag != 0)
        {
            int number = WireFormat.GetTagFieldNumber(tag);
            if (!fields._values.TryGetValue(number, out List<WireValue>? values))
            {
                fields._values.Add(number, values = []);
            }

            values.Add(ReadValue(input, bytes, tag, fields._count++));
        }

        return fields;
    }

    /// <summary>
    /// Returns the values that count: of a oneof those after the last of another field, and those that are written as
    /// the field's type is. Others count as unknown, as they do for generated classes.
    /// </summary>
    public IReadOnlyList<WireValue> ValuesOf(FieldDescriptor field)
    {
        int end = field.RealContainingOneof is { } oneof
            ? oneof.Fields.Where(other => other != field).Select(LastOrder).DefaultIfEmpty(-1).Max()
            : -1;
        return [.. Fitting(field).Where(value => value.Order > end)];
    }

    /// <summary>
    /// Returns the value of a field that is neither repeated nor a message; the default if there is none.
    /// </summary>
    public WireValue LastOf(FieldDescriptor field) => Last(ValuesOf(field));

    /// <summary>Returns the value that counts of several of such a field.</summary>
    public static WireValue Last(IReadOnlyList<WireValue> values) => values.Count == 0 ? default : values[^1];

    private int LastOrder(FieldDescriptor field) => Fitting(field).Select(value => value.Order).LastOrDefault(-1);

    private IEnumerable<WireValue> Fitting(FieldDescriptor field) =>
        _values.GetValueOrDefault(field.FieldNumber, []).Where(value => value.Fits(field));

    private static WireValue ReadValue(CodedInputStream input, ByteString bytes, uint tag, int order)
    {
        WireFormat.WireType type = WireFormat.GetTagWireType(tag);
        return type switch
        {
            WireFormat.WireType.Varint => new WireValue(order, type, input.ReadUInt64(), ByteString.Empty),
            WireFormat.WireType.Fixed64 => new WireValue(order, type, input.ReadFixed64(), ByteString.Empty),
            WireFormat.WireType.Fixed32 => new WireValue(order, type, input.ReadFixed32(), ByteString.Empty),
            WireFormat.WireType.LengthDelimited => new WireValue(order, type, 0, input.ReadBytes()),
            _ => new WireValue(order, type, 0, ReadGroup(input, bytes, tag)),
        };
    }

    private static ByteString ReadGroup(CodedInputStream input, ByteString bytes, uint tag)
    {
        uint endTag = WireFormat.MakeTag(WireFormat.GetTagFieldNumber(tag), WireFormat.WireType.EndGroup);
        int start = (int)input.Position;
        while (true)
        {
            int end = (int)input.Position;
            uint next = input.ReadTag();
            if (next == endTag)
            {
                return ByteString.CopyFrom(bytes.Span[start..end]);
            }

            if (next == 0)
            {
                throw new InvalidDataException("The bytes end within a group.");
            }

            input.SkipLastField();
        }
    }
}

/// <summary>One value of a message's bytes.</summary>
/// <param name="Order">The number of values before it in the message.</param>
/// <param name="Type">How it is written.</param>
/// <param name="Number">The bits of a value that is no bytes.</param>
/// <param name="Bytes">The bytes, also those of a message, a group or a run of packed values.</param>
internal readonly record struct WireValue(int Order, WireFormat.WireType Type, ulong Number, ByteString Bytes)
{
    /// <summary>Whether it is written as a field's values are, one by one or packed.</summary>
    public bool Fits(FieldDescriptor field) => Type == WireTypes.Of(field.FieldType)
        || (Type == WireFormat.WireType.LengthDelimited && WireTypes.IsPackable(field));
}
