using System.Diagnostics.CodeAnalysis;
using System.Linq.Expressions;
using Google.Protobuf.Reflection;
using RpcOverShm.MessagePack.Wire;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>The compiled code of a repeated field or a map field.</summary>
[RequiresDynamicCode("Makes types by the kinds of fields.")]
internal sealed class CollectionCode(FieldDescriptor field, MemberExpression value) : FieldCode(field.FieldNumber)
{
    [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicMethods)]
    private readonly Type _wire = WireTypes.OfCollection(field, value.Type.GetGenericArguments());

    public override Expression IsPresent => Call(_wire, nameof(RepeatedWire<Int32Wire, int>.Any), value);

    public override Expression Size => Call(_wire, nameof(Int32Wire.Size), value);

    public override Expression Write(Expression writer) => Call(_wire, nameof(Int32Wire.Write), writer, value);

    public override Expression Merge(Expression reader) => Call(_wire, nameof(Int32Wire.Read), reader, value);
}
