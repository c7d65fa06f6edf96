using MessagePack;
using MessagePack.Formatters;

namespace RpcOverShm.MessagePack.Objects;

/// <summary>
/// A formatter that refuses to write a value of which its type's formatter would lose something. Thread-safe.
/// </summary>
internal sealed class CheckedFormatter<T>(
    IMessagePackFormatter<T> inner, Predicate<Type>? isWhole, Func<T, string?>? findNull) : IMessagePackFormatter<T>
{
    public void Serialize(ref MessagePackWriter writer, T value, MessagePackSerializerOptions options)
    {
        if (value is not null)
        {
            if (isWhole is not null && !isWhole(value.GetType()))
            {
                throw new MessagePackSerializationException(
                    $"A {value.GetType()} stands where a {typeof(T)} is declared, and would lose what makes it one. "
                    + $"Declare an interface or abstract class with [Union(0, typeof({value.GetType().Name}))].");
            }

            if (findNull?.Invoke(value) is { } member)
            {
                throw new MessagePackSerializationException(
                    $"{typeof(T)}.{member} is null, and its declaration does not allow that. "
                    + "Give it a value, or declare its type with a question mark.");
            }
        }

        inner.Serialize(ref writer, value, options);
    }

    public T Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
        inner.Deserialize(ref reader, options);
}
