using System.Collections;
using FsCheck;
using FsCheck.Fluent;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using RpcOverShm.Testing;

namespace RpcOverShm.MessagePack.Tests.RandomMessages;

/// <summary>
/// Generates random messages of any generated type from its descriptor. Each field is present or not, each oneof has
/// one case or none, and values are often edge cases. Shrinks by removing fields and elements.
/// </summary>
internal static class RandomMessage
{
    private const int MaxDepth = 4;

    /// <summary>Returns messages of a type; shrinks them after a failure.</summary>
    public static Arbitrary<IMessage> Of(MessageDescriptor type) => Arb.From(Generator(type, 0), Shrink);

    /// <summary>Returns sample messages of a type, with a printed seed.</summary>
    public static IEnumerable<IMessage> Sample(MessageDescriptor type, int count) =>
        Generator(type, 0).Sample(20, new Rnd((ulong)TestSeed.Next(), 1), count);

    private static Gen<IMessage> Generator(MessageDescriptor type, int depth)
    {
        // Fewer fields at greater depth; otherwise a recursive type would grow without end.
        int absent = 1 + (2 * depth);
        IEnumerable<Gen<Action<IMessage>>> setters = type.Fields.InFieldNumberOrder()
            .Where(field => field.RealContainingOneof is null)
            .Where(field => depth < MaxDepth || field.FieldType != FieldType.Message)
            .Select(field => Gen.Frequency((absent, Nothing), (1, Setter(field, depth))))
            .Concat(type.Oneofs.Where(oneof => !oneof.IsSynthetic).Select(oneof => Gen.OneOf(
                oneof.Fields.Where(field => depth < MaxDepth || field.FieldType != FieldType.Message)
                    .Select(field => Setter(field, depth)).Append(Nothing))));
        return Gen.CollectToArray(setters).Select(actions =>
        {
            var message = (IMessage)Activator.CreateInstance(type.ClrType)!;
            Array.ForEach(actions, action => action(message));
            return message;
        });
    }

    private static Gen<Action<IMessage>> Nothing => Gen.Constant<Action<IMessage>>(_ => { });

    private static Gen<Action<IMessage>> Setter(FieldDescriptor field, int depth)
    {
        if (field.IsMap)
        {
            return Gen.Zip(
                    Value(field.MessageType.FindFieldByNumber(1), depth),
                    Value(field.MessageType.FindFieldByNumber(2), depth))
                .ListOf()
                .Select<List<ValueTuple<object, object>>, Action<IMessage>>(entries => message =>
                {
                    var map = (IDictionary)field.Accessor.GetValue(message);
                    entries.ForEach(entry => map[entry.Item1] = entry.Item2);
                });
        }

        return field.IsRepeated
            ? Value(field, depth).ListOf().Select<List<object>, Action<IMessage>>(values => message =>
            {
                var list = (IList)field.Accessor.GetValue(message);
                values.ForEach(value => list.Add(value));
            })
            : Value(field, depth).Select<object, Action<IMessage>>(
                value => message => field.Accessor.SetValue(message, value));
    }

    private static Gen<object> Value(FieldDescriptor field, int depth)
    {
        if (field.FieldType != FieldType.Message)
        {
            return RandomValue.Of(field);
        }

        return field.MessageType.File == Google.Protobuf.WellKnownTypes.WrappersReflection.Descriptor
            ? RandomValue.Of(field.MessageType.FindFieldByNumber(1))
            : Gen.Fresh(() => 0).SelectMany(_ => Generator(field.MessageType, depth + 1))
                .ScaleSize(size => size / 2).Select(message => (object)message);
    }

    private static IEnumerable<IMessage> Shrink(IMessage message)
    {
        foreach (FieldDescriptor field in message.Descriptor.Fields.InFieldNumberOrder())
        {
            if (Copy(message) is var without && Clear(field, without))
            {
                yield return without;
            }

            if (field.Accessor.GetValue(message) is IMessage inner)
            {
                foreach (IMessage smaller in Shrink(inner))
                {
                    IMessage copy = Copy(message);
                    field.Accessor.SetValue(copy, smaller);
                    yield return copy;
                }
            }
        }
    }

    private static IMessage Copy(IMessage message) => message.Descriptor.Parser.ParseFrom(message.ToByteArray());

    /// <summary>Removes the last element of a list, or the value of a field; returns false if there was none.</summary>
    private static bool Clear(FieldDescriptor field, IMessage message)
    {
        if (field.Accessor.GetValue(message) is IList list)
        {
            int count = list.Count;
            if (count > 0)
            {
                list.RemoveAt(count - 1);
            }

            return count > 0;
        }

        int before = message.CalculateSize();
        field.Accessor.Clear(message);
        return message.CalculateSize() < before;
    }
}
