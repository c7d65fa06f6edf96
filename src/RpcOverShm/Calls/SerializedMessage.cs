using Grpc.Core;

namespace RpcOverShm.Calls;

/// <summary>
/// A message that is serialised before a call gets it: a request that may be sent more than once. Codecs do not apply
/// to it.
/// </summary>
internal sealed class SerializedMessage(byte[] bytes)
{
    public int Length => bytes.Length;

    /// <summary>The marshaller that writes the bytes unchanged. Messages of this type are never read.</summary>
    public static Marshaller<SerializedMessage> Marshaller { get; } = Marshallers.Create(
        static (message, context) => ((FrameSerializationContext)context).CompleteWithMessage(message.ToBytes()),
        static SerializedMessage (DeserializationContext _) => throw new NotSupportedException());

    /// <summary>Serialises a message.</summary>
    /// <exception cref="MessageTooLargeException">The message is larger than the limit.</exception>
    public static SerializedMessage Of<T>(Marshaller<T> marshaller, T message, int? limitBytes)
    {
        using FrameSerializationContext context =
            FrameSerializationContext.Serialize(marshaller, message, limitBytes, parts: null);
        return new SerializedMessage(context.Bytes.WrittenSpan.ToArray());
    }

    private byte[] ToBytes() => bytes;
}
