using System.Diagnostics.CodeAnalysis;
using System.Linq.Expressions;
using Google.Protobuf.Reflection;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>The compiled code of one field of a message.</summary>
[RequiresDynamicCode("Makes types by the kinds of fields.")]
internal abstract class FieldCode(int number)
{
    public int Number => number;

    /// <summary>Whether the field is written.</summary>
    public abstract Expression IsPresent { get; }

    /// <summary>The size of the value in bytes.</summary>
    public abstract Expression Size { get; }

    public abstract Expression Write(Expression writer);

    /// <summary>Reads a value that is not nil.</summary>
    public abstract Expression Merge(Expression reader);

    /// <summary>
    /// Creates the code of a field; returns null if the type lacks the properties of a generated type.
    /// </summary>
    public static FieldCode? TryMake(Expression message, FieldDescriptor field)
    {
        if (field.ContainingType.ClrType.GetProperty(field.PropertyName) is not { } property)
        {
            return null;
        }

        MemberExpression value = Expression.Property(message, property);
        if (field.IsRepeated)
        {
            return new CollectionCode(field, value);
        }

        if (field.FieldType == FieldType.Message)
        {
            return MessageTypes.IsWrapper(field.MessageType)
                ? new WrapperCode(field, value)
                : new MessageFieldCode(field, value);
        }

        if (!field.HasPresence)
        {
            return new ScalarCode(field, value, has: null);
        }

        return field.ContainingType.ClrType.GetProperty("Has" + field.PropertyName) is { } has
            ? new ScalarCode(field, value, Expression.Property(message, has))
            : null;
    }

    /// <summary>Creates a call of a method of the field's <c>IWireValue</c> type, or of its collection.</summary>
    protected static MethodCallExpression Call(
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicMethods)] Type wire,
        string method,
        params Expression[] arguments) =>
        Expression.Call(wire.GetMethod(method)!, arguments);
}
