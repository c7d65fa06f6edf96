using System.Buffers;
using Grpc.Core;
using RpcOverShm.Buffers;

namespace RpcOverShm.Calls;

/// <summary>
/// Shows the bytes of a call's messages to an observer: marshallers that wrap those of the call, so calls that nobody
/// observes are not affected. They apply inside an encoding: the observer sees uncompressed bytes. Stateless.
/// </summary>
internal static class MessageInspection
{
    /// <summary>
    /// Returns a marshaller that shows each message before it is sent. It serves the one message, or the one stream, of
    /// a call.
    /// </summary>
    public static Marshaller<T> Sending<T>(
        Marshaller<T> inner, MessageObserver observer, MessageOrigin origin, bool isStream, int? limitBytes)
    {
        int next = 0;
        return Marshallers.Create(
            (message, context) =>
            {
                using FrameSerializationContext bytes =
                    FrameSerializationContext.Serialize(inner, message, limitBytes, parts: null);
                var payload = new ReadOnlySequence<byte>(bytes.Bytes.WrittenMemory);

                // A single message may be serialised once more, for a retry.
                Show(observer, origin, isStream ? next++ : 0, payload);
                ((FrameSerializationContext)context).Complete(payload);
            },
            inner.ContextualDeserializer);
    }

    /// <summary>
    /// Returns a marshaller that shows each received message before it is parsed. It serves the one message, or the one
    /// stream, of a call.
    /// </summary>
    public static Marshaller<T> Receiving<T>(Marshaller<T> inner, MessageObserver observer, MessageOrigin origin)
    {
        int next = 0;
        return Marshallers.Create(
            inner.ContextualSerializer,
            context =>
            {
                ReceivedMessage bytes = ((FrameDeserializationContext)context).TakeBytes();
                try
                {
                    bytes.CopyIfLoaned(); // the peer must not change what was inspected before it is parsed
                    Show(observer, origin, next++, bytes.AsSequence());
                }
                catch
                {
                    bytes.Release();
                    throw;
                }

                return FrameDeserializationContext.Deserialize(inner, ref bytes);
            });
    }

    // A method gets the exception as it is, and so its client the status. A call maps it to the status of its end.
    private static void Show(
        MessageObserver observer, in MessageOrigin origin, int index, in ReadOnlySequence<byte> payload)
    {
        try
        {
            observer.OnMessage(origin, index, payload);
        }
        catch (Exception exception) when (origin.IsRequest != origin.IsReceived)
        {
            throw new InspectionException(StatusMapping.FromInspector(exception));
        }
    }
}

/// <summary>The exception for a message of an outgoing call that an inspector refused.</summary>
internal sealed class InspectionException(Status status) : RpcException(status);
