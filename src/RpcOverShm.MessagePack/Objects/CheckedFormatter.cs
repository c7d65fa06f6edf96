using MessagePack;
using MessagePack.Formatters;

namespace RpcOverShm.MessagePack.Objects;

/// <summary>
/// A formatter that refuses to write a value if the inner formatter would lose a part of it. Thread-safe.
/// </summary>
/// <param name="inner">The formatter that reads and writes the value.</param>
/// <param name="findLost">
/// Finds the type of a value that would be read as another type; null if there can be none.
/// </param>
/// <param name="findNull">Finds the name of a non-nullable member that is null; null if there can be none.</param>
internal sealed class CheckedFormatter<T>(
    IMessagePackFormatter<T> inner, Func<T, Type?>? findLost, Func<T, string?>? findNull) : IMessagePackFormatter<T>
{
    public void Serialize(ref MessagePackWriter writer, T value, MessagePackSerializerOptions options)
    {
        if (value is not null)
        {
            if (findLost?.Invoke(value) is { } lost)
            {
                throw new MessagePackSerializationException(
                    $"A {lost} stands where a {typeof(T)} is declared, and would not be read as what it is. "
                    + $"Declare an interface or abstract class with [Union(0, typeof({lost.Name}))].");
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
