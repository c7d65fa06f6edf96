using System.Text;
using Google.Protobuf;
using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>Carries generated messages as Protobuf's JSON: readable on the wire, but slower than binary.</summary>
internal sealed class JsonCodec : ShmCodec
{
    public override string Name => "json";

    // Called once for each method and direction. Null means that the codec does not support the type, here one that was
    // not generated.
    public override Marshaller<T>? CreateMarshaller<T>(Marshaller<T> generated) =>
        Activator.CreateInstance<T>() is not IMessage { Descriptor: var type }
            ? null
            : Marshallers.Create<T>(
                static (message, context) =>
                {
                    string json = JsonFormatter.Default.Format((IMessage)message);
                    context.SetPayloadLength(Encoding.UTF8.GetByteCount(json));
                    Encoding.UTF8.GetBytes(json, context.GetBufferWriter());
                    context.Complete();
                },
                context => (T)JsonParser.Default.Parse(
                    Encoding.UTF8.GetString(context.PayloadAsReadOnlySequence()), type));
}
