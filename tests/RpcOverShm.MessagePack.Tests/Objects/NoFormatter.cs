using MessagePack;
using MessagePack.Formatters;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>A formatter that is only ever found, not used.</summary>
internal class NoFormatter<T> : IMessagePackFormatter<T>
{
    public void Serialize(ref MessagePackWriter writer, T value, MessagePackSerializerOptions options) =>
        throw new InvalidOperationException();

    public T Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
        throw new InvalidOperationException();
}
