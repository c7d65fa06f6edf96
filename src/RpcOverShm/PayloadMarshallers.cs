using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm;

/// <summary>The generated marshallers, except those of messages with a payload, which it wraps.</summary>
internal sealed class PayloadMarshallers : MarshallerProvider
{
    private PayloadMarshallers()
    {
    }

    public static PayloadMarshallers Instance { get; } = new();

    public override string Name => Generated;

    public override Marshaller<T>? TryReplace<T>(Marshaller<T> generated)
        where T : class =>
        typeof(IShmPayloadMessage).IsAssignableFrom(typeof(T))
            ? new PayloadMessageMarshaller<T>(generated).Marshaller
            : generated;

    public override void Release(object? message) => (message as IShmPayloadMessage)?.Payload?.Dispose();
}
