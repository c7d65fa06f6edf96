// In the namespace of the generated part.
#pragma warning disable IDE0130
namespace RpcOverShm.FunctionalTests.Protos;

// snippet: payload
public sealed partial class Frame : IShmPayloadMessage
{
    public ShmPayload? Payload { get; set; }

    int IShmPayloadMessage.PayloadFieldNumber => DataFieldNumber;
}
// end snippet
