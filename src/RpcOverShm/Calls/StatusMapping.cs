using System.Net.Sockets;
using Grpc.Core;
using RpcOverShm.Links;
using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>
/// Every failure of transport, protocol and handlers as an RPC status: the only such table. The details that programs
/// compare are those of grpc-dotnet.
/// </summary>
internal static class StatusMapping
{
    public const string ClientCancelledDetail = "Call canceled by the client.";
    public const string DisposedDetail = "gRPC call disposed.";
    public const string ServerDeadlineDetail = "Deadline Exceeded";
    public const string ReceivedTooLargeDetail = "Received message exceeds the maximum configured message size.";
    public const string SentTooLargeDetail = "Sending message exceeds the maximum configured message size.";
    public const string NoMessageDetail = "No message returned from method.";
    public const string MethodUnknownDetail = "Method is unimplemented.";
    public const string ServiceUnknownDetail = "Service is unimplemented.";
    public const string HandlerThrewDetail = "Exception was thrown by handler.";
    public const string AdditionalMessageDetail = "Additional data after the message received.";
    public const string IncompleteMessageDetail = "Incomplete message.";
    public const string ResponseUnreadableDetail = "Failed to deserialize response message.";

    private const string StartFailedDetail = "Error starting gRPC call. ";

    public static Status ClientCancelled => new(StatusCode.Cancelled, ClientCancelledDetail);

    public static Status Disposed => new(StatusCode.Cancelled, DisposedDetail);

    public static Status ServerStopping => new(StatusCode.Unavailable, "The server is shutting down.");

    /// <summary>At the client the detail is empty; the server says it in words.</summary>
    public static Status ClientDeadline => new(StatusCode.DeadlineExceeded, "");

    /// <summary>The same for a call that found no connection until then.</summary>
    /// <param name="failure">Of the last attempt to make one; null where none has failed.</param>
    public static Status ClientDeadlineWithout(ConnectException? failure) =>
        new(StatusCode.DeadlineExceeded, "", failure?.Publish());

    public static Status ServerDeadline => new(StatusCode.DeadlineExceeded, ServerDeadlineDetail);

    /// <summary>A second message where one is allowed.</summary>
    public static Status AdditionalMessage => new(StatusCode.Internal, AdditionalMessageDetail);

    /// <summary>A message of the peer that is larger than this side takes. Its exception says how large.</summary>
    public static Status ReceivedTooLarge(long bytes, long limitBytes) => new(
        StatusCode.ResourceExhausted,
        ReceivedTooLargeDetail,
        new MessageTooLargeException(bytes, limitBytes, MessageTooLargeException.ReceiveOption));

    /// <summary>The end of a connection, for a call that lived on it.</summary>
    public static Status FromClose(CloseReason reason) => reason.Kind switch
    {
        CloseKind.Local => new Status(StatusCode.Cancelled, DisposedDetail),
        CloseKind.PeerClosed or CloseKind.PeerLost =>
            new Status(StatusCode.Unavailable, reason.Text, reason.Exception),
        _ => new Status(StatusCode.Internal, reason.Text, reason.Exception),
    };

    /// <summary>What kept a call from being started.</summary>
    public static Status FromStartFailure(Exception exception) => exception switch
    {
        ConnectException failure => FromConnectFailure(failure),
        ObjectDisposedException => Disposed,
        _ => FromUnexpected(exception),
    };

    /// <summary>A connection that could not be made.</summary>
    public static Status FromConnectFailure(ConnectException exception)
    {
        StatusCode code = exception.Failure switch
        {
            ConnectFailure.NotListening or ConnectFailure.TimedOut or ConnectFailure.Refused
                or ConnectFailure.SystemError => StatusCode.Unavailable,
            ConnectFailure.AccessDenied => StatusCode.PermissionDenied,
            _ => StatusCode.Internal,
        };

        // The words of an RpcException are those of the detail and of this exception: the sentence stands there once.
        return new Status(
            code,
            StartFailedDetail + exception.Message,
            exception.Publish($"{exception.Failure}, as the detail says."));
    }

    /// <summary>A request that could not be turned into bytes.</summary>
    public static Status FromRequestFailure(Exception exception) => exception is MessageTooLargeException
        ? new Status(StatusCode.ResourceExhausted, SentTooLargeDetail, exception)
        : FromUnexpected(exception);

    /// <summary>A call that failed to start for a reason that nobody foresaw.</summary>
    public static Status FromUnexpected(Exception exception) =>
        Because(exception, StatusCode.Internal, $"{StartFailedDetail}{Describe(exception)}");

    /// <summary>Credentials that could not be had. The exception is the caller's own, and is kept.</summary>
    public static Status FromCredentialsFailure(Exception exception) => exception switch
    {
        RpcException rpc => Because(exception, rpc.StatusCode, rpc.Status.Detail),
        OperationCanceledException => Because(exception, StatusCode.Cancelled, ""),
        ObjectDisposedException => Disposed,
        IOException or SocketException or HttpRequestException =>
            Because(exception, StatusCode.Unavailable, $"{StartFailedDetail}{Describe(exception)}"),
        _ => FromUnexpected(exception),
    };

    /// <summary>A response that the marshaller could not read.</summary>
    public static Status FromUnreadableResponse(Exception exception) => exception is MessageEncodingException encoding
        ? encoding.Status
        : Because(exception, StatusCode.Internal, $"{ResponseUnreadableDetail} {Describe(exception)}");

    /// <summary>A message that is not what its encoding says.</summary>
    public static Status BadEncoding(string what) => new(StatusCode.Internal, what);

    /// <summary>An encoding that this side does not know.</summary>
    public static Status EncodingUnknown(string encoding) => new(
        StatusCode.Unimplemented,
        $"Unsupported grpc-encoding value '{encoding}'. Supported encodings: {MessageEncoding.Supported}");

    /// <summary>An encoding that the caller wants and this side does not have.</summary>
    public static Status EncodingNotFound(string encoding) => new(
        StatusCode.Internal,
        $"{StartFailedDetail}Could not find compression provider for '{encoding}'; "
        + $"there are {MessageEncoding.Supported}.");

    /// <summary>A call that the peer's limit keeps from starting.</summary>
    public static Status TooManyCalls(PeerLimits limits) => new(
        StatusCode.ResourceExhausted, $"The server takes at most {limits.MaxCalls} calls at a time on one connection.");

    /// <summary>A call that the server's limit keeps from running.</summary>
    public static Status TooManyRunning(uint maxCalls) => new(
        StatusCode.ResourceExhausted, $"The server runs at most {maxCalls} calls at a time for one connection.");

    /// <summary>Metadata beyond a limit.</summary>
    public static Status MetadataTooLarge(string what, long limitBytes) => new(
        StatusCode.ResourceExhausted, $"{what} is larger than the {limitBytes} bytes that are allowed.");

    /// <summary>What a handler threw, as its client sees it.</summary>
    public static Status FromHandlerException(Exception exception, bool isDetailed) => exception switch
    {
        RpcException rpc => rpc.Status,
        MessageTooLargeException => new Status(StatusCode.ResourceExhausted, SentTooLargeDetail, exception),
        _ => new Status(
            StatusCode.Unknown, isDetailed ? $"{HandlerThrewDetail} {Describe(exception)}" : HandlerThrewDetail),
    };

    /// <summary>A call that its method has ended while a message was on its way in parts.</summary>
    public static Status MessageBrokenOff { get; } =
        new(StatusCode.Unknown, "The method ended while a response was being written.");

    /// <summary>A codec that the server does not offer.</summary>
    public static Status CodecUnknown(string asked, IEnumerable<string> offered) => new(
        StatusCode.Unimplemented,
        $"The client uses the codec '{asked}'; "
        + $"the server offers {string.Join(", ", offered.Select(name => $"'{name}'"))}.");

    /// <summary>
    /// A status with the exception behind it, which is a user's. Not one that cannot be put into words: whoever makes
    /// an exception of the status, or logs it, would fail with that in place of telling how the call has ended.
    /// </summary>
    private static Status Because(Exception exception, StatusCode code, string detail)
    {
        try
        {
            _ = exception.ToString();
            return new Status(code, detail, exception);
        }
        catch (Exception)
        {
            return new Status(code, detail);
        }
    }

    /// <summary>Types and messages of an exception and those inside it, the outermost first.</summary>
    private static string Describe(Exception exception)
    {
        string text = $"{exception.GetType().Name}: {MessageOf(exception)}";
        return exception.InnerException is null ? text : $"{text} {Describe(exception.InnerException)}";
    }

    // Code of users: it is called where a call ends, which must not depend on it.
    private static string MessageOf(Exception exception)
    {
        try
        {
            return exception.Message;
        }
        catch (Exception problem)
        {
            return $"(its message throws {problem.GetType().Name})";
        }
    }
}
