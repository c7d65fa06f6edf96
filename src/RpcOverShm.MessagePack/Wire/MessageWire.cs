using RpcOverShm.MessagePack.Messages;

namespace RpcOverShm.MessagePack.Wire;

/// <summary>A nested message.</summary>
internal readonly struct MessageWire<T> : IWireValue<T>
    where T : class
{
    public static long Size(T value) => MessageFormatter<T>.Size(value);

    public static void Write(ref MessageWriter writer, T value) => MessageFormatter<T>.Write(ref writer, value);

    public static T Read(ref MessageReader reader)
    {
        T message = MessageFormatter<T>.Create();
        if (!reader.TryReadNil())
        {
            Merge(ref reader, message);
        }

        return message;
    }

    /// <summary>Reads a message over an earlier one of the same field.</summary>
    public static void Merge(ref MessageReader reader, T message)
    {
        ReaderPlace place = reader.Enter(MessageFormatter<T>.Descriptor);
        MessageFormatter<T>.Merge(ref reader, message);
        reader.Leave(place);
    }
}
