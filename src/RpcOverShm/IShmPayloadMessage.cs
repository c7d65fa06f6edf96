namespace RpcOverShm;

/// <summary>
/// A generated message of which one field is a <see cref="ShmPayload"/>: its bytes are lent or sent after the other
/// fields, without a <c>ByteString</c>.
/// </summary>
/// <remarks>
/// <para>
/// The message of Grpc.Tools is partial, and the interface is added to it. For
/// <c>message Frame { int32 width = 1; bytes data = 3; }</c>:
/// </para>
/// <code>
/// sealed partial class Frame : IShmPayloadMessage
/// {
///     public ShmPayload? Payload { get; set; }
///     int IShmPayloadMessage.PayloadFieldNumber => DataFieldNumber;
/// }
/// </code>
/// <para>
/// On the wire it is the message of the <c>.proto</c>, so the peer may have the interface or not. It works with the
/// generated marshallers of channels and servers of this library. Other transports, and codecs such as MessagePack, do
/// not know the payload and send the message without it. Messages with required fields (proto2) cannot have one. It is
/// copied if the other fields take 1,000 bytes or more.
/// </para>
/// <para>
/// The owner of the payload is as for a message that is a <see cref="ShmPayload"/>: the receiver disposes the payload
/// of a message that it has received, the caller that of a request after the call, and the server that of the message
/// that a method returns. The payload of a message of a stream its writer disposes when the write has completed.
/// </para>
/// </remarks>
public interface IShmPayloadMessage
{
    /// <summary>Gets or sets the payload; null if the message has none.</summary>
    /// <remarks>
    /// The field itself must stay empty when a message with a payload is sent, and is empty in a message that was
    /// received. A message with an empty field is received with null or an empty payload, as its sender has written it.
    /// </remarks>
    ShmPayload? Payload { get; set; }

    /// <summary>Gets the number of the field, which has the type <c>bytes</c> and is not repeated.</summary>
    /// <remarks>The same for each message of the type, also for one without any field set.</remarks>
    int PayloadFieldNumber { get; }
}
