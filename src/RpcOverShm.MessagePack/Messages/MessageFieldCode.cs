using System.Diagnostics.CodeAnalysis;
using System.Linq.Expressions;
using Google.Protobuf.Reflection;
using RpcOverShm.MessagePack.Wire;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>The compiled code of a field that is a message.</summary>
[RequiresDynamicCode("Makes types by the kinds of fields.")]
internal sealed class MessageFieldCode(FieldDescriptor field, MemberExpression value) : FieldCode(field.FieldNumber)
{
    [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicMethods)]
    private readonly Type _wire = WireTypes.Of(field);

    public override Expression IsPresent => Expression.NotEqual(value, Expression.Constant(null, value.Type));

    public override Expression Size => Call(_wire, nameof(Int32Wire.Size), value);

    public override Expression Write(Expression writer) => Call(_wire, nameof(Int32Wire.Write), writer, value);

    public override Expression Merge(Expression reader)
    {
        var message = Expression.Variable(value.Type, "inner");
        return Expression.Block(
            [message],
            Expression.Assign(message, value),
            Expression.IfThen(
                Expression.Equal(message, Expression.Constant(null, value.Type)),
                Expression.Assign(value, Expression.Assign(message, Expression.New(field.MessageType.ClrType)))),
            Call(_wire, nameof(MessageWire<object>.Merge), reader, message));
    }
}
