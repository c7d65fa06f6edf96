using System.Diagnostics.CodeAnalysis;
using System.Linq.Expressions;
using Google.Protobuf.Reflection;
using MessagePack;
using RpcOverShm.MessagePack.Wire;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>
/// Compiles the code that a generator would write for a message type: straight-line code over its typed properties,
/// with a switch over the field numbers.
/// </summary>
[RequiresDynamicCode("Makes types by the kinds of fields.")]
internal static class MessageCompiler
{
    /// <summary>Compiles the code of a type; returns null if the type lacks the members of a generated type.</summary>
    public static MessageCode<T>? TryCompile<T>(MessageDescriptor type)
        where T : class
    {
        var message = Expression.Parameter(typeof(T), "message");
        var fields = new List<FieldCode>();
        foreach (FieldDescriptor field in type.Fields.InFieldNumberOrder())
        {
            if (FieldCode.TryMake(message, field) is not { } code)
            {
                return null;
            }

            fields.Add(code);
        }

        return new MessageCode<T>(
            Expression.Lambda<Func<T>>(Expression.New(type.ClrType)).Compile(),
            Expression.Lambda<Func<T, long>>(Size(type, fields), message).Compile(),
            CompileWriting<T>(message, fields),
            CompileMerging<T>(message, fields));
    }

    // One statement per field. A single sum of conditional expressions would use a stack slot for each field, and that
    // again for each level of nested messages.
    private static BlockExpression Size(MessageDescriptor type, List<FieldCode> fields)
    {
        var size = Expression.Variable(typeof(long), "size");
        var body = new List<Expression> { Expression.Assign(size, Expression.Constant(1L)) };
        body.AddRange(fields.Select(field => Expression.IfThen(
            field.IsPresent,
            Expression.AddAssign(
                size,
                Expression.Add(Expression.Constant((long)WireSize.Unsigned((uint)field.Number)), field.Size)))));

        // Of a oneof at most one field is there. So few types have more fields than the shortest header counts.
        int most = fields.Count - type.Oneofs.Sum(oneof => oneof.Fields.Count - 1);
        if (most > MessagePackRange.MaxFixMapCount)
        {
            Func<int, int> headerOf = WireSize.MapHeader;
            Expression header = Expression.Convert(Expression.Call(headerOf.Method, Count(fields)), typeof(long));
            body[0] = Expression.Assign(size, header);
        }

        body.Add(size);
        return Expression.Block([size], body);
    }

    private static BlockExpression Count(List<FieldCode> fields)
    {
        var count = Expression.Variable(typeof(int), "count");
        var body = new List<Expression> { Expression.Assign(count, Expression.Constant(0)) };
        body.AddRange(fields.Select(field => Expression.IfThen(
            field.IsPresent, Expression.PreIncrementAssign(count))));
        body.Add(count);
        return Expression.Block([count], body);
    }

    private static WriteMessage<T> CompileWriting<T>(ParameterExpression message, List<FieldCode> fields)
    {
        var writer = Expression.Parameter(typeof(MessageWriter).MakeByRefType(), "writer");
        var body = new List<Expression> { CallWriter(writer, nameof(MessageWriter.WriteMapHeader), Count(fields)) };
        body.AddRange(fields.Select(field => Expression.IfThen(
            field.IsPresent,
            Expression.Block(
                CallWriter(writer, nameof(MessageWriter.WriteKey), Expression.Constant(field.Number)),
                field.Write(writer)))));
        return Expression.Lambda<WriteMessage<T>>(Expression.Block(typeof(void), body), writer, message).Compile();
    }

    private static MergeMessage<T> CompileMerging<T>(ParameterExpression message, List<FieldCode> fields)
    {
        var reader = Expression.Parameter(typeof(MessageReader).MakeByRefType(), "reader");
        var left = Expression.Variable(typeof(int), "left");
        var number = Expression.Variable(typeof(int), "number");
        LabelTarget end = Expression.Label("end");
        Expression skip = CallReader(reader, nameof(MessageReader.Skip));
        Expression readField = fields.Count == 0
            ? skip
            : Expression.Switch(
                number,
                skip,
                [
                    .. fields.Select(field => Expression.SwitchCase(
                        Expression.Block(typeof(void), field.Merge(reader)), Expression.Constant(field.Number))),
                ]);
        Expression body = Expression.Block(
            [left, number],
            Expression.Assign(left, CallReader(reader, nameof(MessageReader.ReadMapHeader))),
            Expression.Loop(
                Expression.Block(
                    Expression.IfThen(Expression.LessThanOrEqual(left, Expression.Constant(0)), Expression.Break(end)),
                    Expression.PreDecrementAssign(left),
                    Expression.Assign(number, CallReader(reader, nameof(MessageReader.ReadField))),
                    Expression.IfThen(
                        Expression.Not(CallReader(reader, nameof(MessageReader.TryReadNil))), readField)),
                end));
        return Expression.Lambda<MergeMessage<T>>(body, reader, message).Compile();
    }

    private static MethodCallExpression CallWriter(Expression writer, string method, Expression argument) =>
        Expression.Call(writer, typeof(MessageWriter).GetMethod(method)!, argument);

    private static MethodCallExpression CallReader(Expression reader, string method) =>
        Expression.Call(reader, typeof(MessageReader).GetMethod(method)!);
}
