using System.Diagnostics.CodeAnalysis;
using System.Linq.Expressions;
using Google.Protobuf.Reflection;
using RpcOverShm.MessagePack.Wire;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>The compiled code of a field that is not a message.</summary>
/// <param name="field">The descriptor of the field.</param>
/// <param name="value">The property of the field.</param>
/// <param name="has">
/// The property that reports presence; null if the field has no presence and omits its default.
/// </param>
[RequiresDynamicCode("Makes types by the kinds of fields.")]
internal sealed class ScalarCode(FieldDescriptor field, MemberExpression value, Expression? has)
    : FieldCode(field.FieldNumber)
{
    [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicMethods)]
    private readonly Type _wire = WireTypes.Of(field);

    public override Expression IsPresent =>
        has ?? Expression.Not(Call(_wire, nameof(Int32Wire.IsDefault), value));

    public override Expression Size => Call(_wire, nameof(Int32Wire.Size), value);

    public override Expression Write(Expression writer) => Call(_wire, nameof(Int32Wire.Write), writer, value);

    public override Expression Merge(Expression reader) =>
        Expression.Assign(value, Call(_wire, nameof(Int32Wire.Read), reader));
}
