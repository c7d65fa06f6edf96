using System.Diagnostics.CodeAnalysis;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using RpcOverShm.MessagePack.Wire;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>Maps fields to the types that read and write their values.</summary>
[RequiresDynamicCode("Makes types by the kinds of fields.")]
[UnconditionalSuppressMessage("Trimming", "IL2055", Justification = Constructed)]
[UnconditionalSuppressMessage("Trimming", "IL2076", Justification = Constructed)]
internal static class WireTypes
{
    private const string Constructed = "The arguments that have to have a constructor are structs, which all have one.";

    /// <summary>Returns the type for the value of a field, or for each element of a repeated field.</summary>
    [return: DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicMethods)]
    public static Type Of(FieldDescriptor field) => field.FieldType switch
    {
        FieldType.Bool => typeof(BoolWire),
        FieldType.String => typeof(StringWire),
        FieldType.Bytes => typeof(BytesWire),
        FieldType.Float => typeof(SingleWire),
        FieldType.Double => typeof(DoubleWire),
        FieldType.UInt32 or FieldType.Fixed32 => typeof(UInt32Wire),
        FieldType.UInt64 or FieldType.Fixed64 => typeof(UInt64Wire),
        FieldType.Int64 or FieldType.SInt64 or FieldType.SFixed64 => typeof(Int64Wire),
        FieldType.Enum => typeof(EnumWire<>).MakeGenericType(field.EnumType.ClrType),
        FieldType.Message when MessageTypes.IsWrapper(field.MessageType) =>
            OfWrapper(field.MessageType.FindFieldByNumber(1)),
        FieldType.Message => typeof(MessageWire<>).MakeGenericType(field.MessageType.ClrType),
        _ => typeof(Int32Wire),
    };

    /// <summary>Returns the type for a repeated field or a map field.</summary>
    /// <param name="field">The descriptor of the field.</param>
    /// <param name="arguments">The type arguments of the field's collection type.</param>
    [return: DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicMethods)]
    public static Type OfCollection(FieldDescriptor field, Type[] arguments) => field.IsMap
        ? typeof(MapWire<,,,>).MakeGenericType(
            Of(field.MessageType.FindFieldByNumber(1)),
            arguments[0],
            Of(field.MessageType.FindFieldByNumber(2)),
            arguments[1])
        : typeof(RepeatedWire<,>).MakeGenericType(Of(field), arguments[0]);

    [return: DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicMethods)]
    private static Type OfWrapper(FieldDescriptor wrapped) => wrapped.FieldType switch
    {
        FieldType.String => typeof(ClassWrapperWire<StringWire, string>),
        FieldType.Bytes => typeof(ClassWrapperWire<BytesWire, ByteString>),
        FieldType.Bool => typeof(StructWrapperWire<BoolWire, bool>),
        FieldType.Float => typeof(StructWrapperWire<SingleWire, float>),
        FieldType.Double => typeof(StructWrapperWire<DoubleWire, double>),
        FieldType.UInt32 => typeof(StructWrapperWire<UInt32Wire, uint>),
        FieldType.UInt64 => typeof(StructWrapperWire<UInt64Wire, ulong>),
        FieldType.Int64 => typeof(StructWrapperWire<Int64Wire, long>),
        _ => typeof(StructWrapperWire<Int32Wire, int>),
    };
}
