using System.Text;
using Google.Protobuf;
using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>Generated messages as Protobuf's JSON, which a person can read on the way. Slower than the bytes.</summary>
internal sealed class JsonCodec : ShmCodec
{
    public override string Name => "json";

    // Called once for each method and direction. Null: there is no JSON for messages that were not generated.
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
