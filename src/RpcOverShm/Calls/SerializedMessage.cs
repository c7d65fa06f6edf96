using Grpc.Core;

namespace RpcOverShm.Calls;

/// <summary>
/// A message that was serialised before it is given to a call: what is kept of a request that may be sent more than
/// once. No codec applies to it any more.
/// </summary>
internal sealed class SerializedMessage(byte[] bytes)
{
    public int Length => bytes.Length;

    /// <summary>Gives the bytes away as they are. Nobody reads messages of this kind.</summary>
    public static Marshaller<SerializedMessage> Marshaller { get; } = Marshallers.Create(
        static (message, context) => ((FrameSerializationContext)context).CompleteWithMessage(message.ToBytes()),
        static SerializedMessage (DeserializationContext _) => throw new NotSupportedException());

    /// <summary>Serialises a message.</summary>
    /// <exception cref="MessageTooLargeException">It is larger than the limit.</exception>
    public static SerializedMessage Of<T>(Marshaller<T> marshaller, T message, int? limitBytes)
    {
        using FrameSerializationContext context =
            FrameSerializationContext.Serialize(marshaller, message, limitBytes, parts: null);
        return new SerializedMessage(context.Bytes.WrittenSpan.ToArray());
    }

    private byte[] ToBytes() => bytes;
}
