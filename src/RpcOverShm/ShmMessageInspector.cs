using Grpc.Core;

namespace RpcOverShm;

/// <summary>
/// The base of hooks that see the bytes of each message of a channel or server, before they are parsed or sent.
/// </summary>
/// <remarks>
/// <para>
/// A server shows the requests that it receives and the responses that it sends; a channel the requests that it sends
/// and the responses that it receives. Callbacks are shown on both sides too. The bytes are those of the marshaller or
/// codec, uncompressed. The inspectors of a side run in their order, for each message.
/// </para>
/// <para>
/// An inspector that throws fails that call only. On the server the exception is that of the method, or of the read or
/// write of a stream, which a method may catch; the message is lost. On a channel the call ends with the status of the
/// <see cref="RpcException"/>, without its trailers; any other exception is <see cref="StatusCode.Internal"/>.
/// </para>
/// <para>
/// A request that is sent again by itself, because the server left before it saw the request, is shown again. Retries
/// by a policy show it once.
/// </para>
/// <para>
/// Inspectors run on the thread that serialises or parses the message, so they should be quick. Each message costs a
/// copy more. Without inspectors nothing is paid. Implementations must be thread-safe. Channels and servers do not
/// dispose them.
/// </para>
/// </remarks>
public abstract class ShmMessageInspector
{
    /// <summary>Sees a request: on the server before it is parsed, on the client before it is sent.</summary>
    /// <param name="message">The message, valid only during this call.</param>
    public virtual void OnRequest(in ShmInspectedMessage message)
    {
    }

    /// <summary>Sees a response: on the server before it is sent, on the client before it is parsed.</summary>
    /// <param name="message">The message, valid only during this call.</param>
    public virtual void OnResponse(in ShmInspectedMessage message)
    {
    }
}
