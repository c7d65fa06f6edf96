using MessagePack.Objects;

namespace MessagePack.Formatters;

/// <summary>Writes tuples and pairs as arrays, and reads those that have exactly as many elements.</summary>
internal sealed class TupleFormatter<T> : IMessagePackFormatter<T?>
{
    private static readonly ObjectPlan s_plan = Plan();

    private readonly ObjectFormatter<T> _inner = new(s_plan);

    public void Serialize(ref MessagePackWriter writer, T? value, MessagePackSerializerOptions options) =>
        _inner.Serialize(ref writer, value, options);

    public T? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options)
    {
        MessagePackReader ahead = reader.CreatePeekReader();
        return ahead.TryReadNil() || ahead.ReadArrayHeader() == s_plan.Members.Count
            ? _inner.Deserialize(ref reader, options)
            : throw new MessagePackSerializationException($"Invalid {typeof(T).Name.Split('`')[0]} count");
    }

    private static ObjectPlan Plan()
    {
        if (typeof(T).GetGenericTypeDefinition() == typeof(KeyValuePair<,>))
        {
            return ObjectPlan.OfTuple(typeof(T), "Key", "Value");
        }

        // The eighth is a tuple again.
        int count = typeof(T).GenericTypeArguments.Length;
        return ObjectPlan.OfTuple(
            typeof(T), Enumerable.Range(1, count).Select(number => number == 8 ? "Rest" : $"Item{number}"));
    }
}
