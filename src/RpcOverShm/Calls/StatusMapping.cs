using System.Net.Sockets;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Calls;

/// <summary>
/// Maps every failure of transport, protocol and handlers to an RPC status; there is no other such table. Programs may
/// compare some details as text; these begin as in grpc-dotnet.
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
    public const string NotActivatedDetail = "The service could not be created.";
    public const string AdditionalMessageDetail = "Additional data after the message received.";
    public const string IncompleteMessageDetail = "Incomplete message.";
    public const string ResponseUnreadableDetail = "Failed to deserialize response message.";

    // The names of the options of servers and channels.
    public const string CallLimit = "MaxConcurrentCallsPerConnection";
    public const string MetadataOption = "MaxMetadataSize";

    private const string StartFailedDetail = "Error starting gRPC call. ";

    public static Status ClientCancelled => new(StatusCode.Cancelled, ClientCancelledDetail);

    public static Status Disposed => new(StatusCode.Cancelled, DisposedDetail);

    public static Status ServerStopping => new(StatusCode.Unavailable, "The server is shutting down.");

    /// <summary>The status of a deadline at the client. Its detail is empty, unlike the server's.</summary>
    public static Status ClientDeadline => new(StatusCode.DeadlineExceeded, "");

    /// <summary>Returns the deadline status of a call that waited for something after a failure.</summary>
    /// <param name="failure">The failure of the last attempt to connect or to call; null if none has failed.</param>
    public static Status ClientDeadlineAfter(Exception? failure) => new(StatusCode.DeadlineExceeded, "", failure);

    /// <summary>Returns the status of a call that its user cancelled while it waited after a failure.</summary>
    /// <param name="failure">The failure of the last attempt to connect; null if none has failed.</param>
    public static Status ClientCancelledAfter(Exception? failure) =>
        new(StatusCode.Cancelled, ClientCancelledDetail, failure);

    /// <summary>Returns the deadline status of a call that was started on a connection.</summary>
    /// <param name="peer">The peer in a sentence, such as "the server, process 7,".</param>
    /// <param name="isOneWay">Whether the call is one-way; it has waited for room then.</param>
    /// <param name="isCallback">Whether the peer is a client.</param>
    public static Status ClientDeadlineAt(string peer, bool isOneWay, bool isCallback) => new(
        StatusCode.DeadlineExceeded,
        isOneWay
            ? $"Of the one-way calls of this connection, {peer} is behind with many; this one has waited for room."
            : isCallback ? $"The callback has waited for {peer} to end it." : "");

    /// <summary>Returns the deadline status of a call that others may have kept from running.</summary>
    /// <param name="peer">The peer in a sentence, such as "the server, process 7,".</param>
    /// <param name="running">The number of calls that the peer runs at a time.</param>
    /// <param name="living">The number of calls that had not ended, with this one.</param>
    public static Status ClientDeadlineInQueue(string peer, uint running, int living) => new(
        StatusCode.DeadlineExceeded,
        $"Of the calls of this connection, {peer} runs {running} at a time ({CallLimit}), and {living} had not ended: "
        + "this one may have waited for its turn.");

    public static Status ServerDeadline => new(StatusCode.DeadlineExceeded, ServerDeadlineDetail);

    /// <summary>The status for a second message if only one is allowed.</summary>
    public static Status AdditionalMessage => new(StatusCode.Internal, AdditionalMessageDetail);

    /// <summary>Returns the status for a received message over the limit of a side.</summary>
    public static Status ReceivedTooLarge(long bytes, long limitBytes, string side) => TooLarge(
        ReceivedTooLargeDetail,
        new MessageTooLargeException(bytes, limitBytes, MessageTooLargeException.ReceiveOption),
        side);

    /// <summary>The status of handles for a peer that takes none.</summary>
    public static Status HandlesNotTaken => new(
        StatusCode.FailedPrecondition,
        "The other side takes no handles: set Handles.AllowHandles on both sides. Calls over other transports, and on "
        + "Windows, carry none.");

    /// <summary>The status of handles for a peer that leaves earlier ones unread.</summary>
    public static Status HandlesNotRead => new(
        StatusCode.ResourceExhausted,
        "The handles could not be passed, because the other side has not read earlier ones yet. Make fewer calls with "
        + "handles at a time.");

    /// <summary>The status of handles of which one was closed too early.</summary>
    public static Status HandleClosed => new(
        StatusCode.Internal, "A handle was closed before it was sent. Keep handles open until their call has ended.");

    /// <summary>Returns the status of handles that do not come, or were closed when they came.</summary>
    public static Status HandlesMissing(HandleArrival arrival) => arrival switch
    {
        HandleArrival.Late => new Status(
            StatusCode.Internal, "The other side has announced handles, and they did not come in time."),
        HandleArrival.ConnectionEnded => new Status(
            StatusCode.Unavailable, "The connection ended before the handles came."),
        _ => new Status(
            StatusCode.ResourceExhausted,
            $"The handles were closed when they came: {LinkHandles.Option} for one connection is reached, or their "
            + "call came too late. Take handles as soon as their call or message comes, or raise the limit."),
    };

    /// <summary>Maps the end of a connection to the status of a call on it.</summary>
    public static Status FromClose(CloseReason reason) => reason.Kind switch
    {
        CloseKind.Local => new Status(StatusCode.Cancelled, DisposedDetail),
        CloseKind.PeerClosed or CloseKind.PeerLost or CloseKind.NoResources =>
            new Status(StatusCode.Unavailable, reason.Text, reason.Exception),
        _ => new Status(StatusCode.Internal, reason.Text, reason.Exception),
    };

    /// <summary>Maps the failure to start a call.</summary>
    public static Status FromStartFailure(Exception exception) => exception switch
    {
        ConnectException failure => FromConnectFailure(failure),
        ObjectDisposedException => Disposed,
        RpcException rpc => rpc.Status,
        _ => FromUnexpected(exception),
    };

    /// <summary>Maps the failure to connect.</summary>
    public static Status FromConnectFailure(ConnectException exception)
    {
        StatusCode code = exception.Failure switch
        {
            ConnectFailure.NotListening or ConnectFailure.TimedOut or ConnectFailure.Refused
                or ConnectFailure.SystemError => StatusCode.Unavailable,
            ConnectFailure.AccessDenied => StatusCode.PermissionDenied,
            _ => StatusCode.Internal,
        };

        // The text of an RpcException shows both the detail and this exception, so the latter does not repeat it all.
        return new Status(
            code,
            StartFailedDetail + exception.Message,
            exception.ToPublicException($"{exception.Failure}, as the detail says."));
    }

    /// <summary>Maps the failure to serialise a request. The side is that of the limit for sent messages.</summary>
    public static Status FromRequestFailure(Exception exception, string side) => exception switch
    {
        MessageTooLargeException message => TooLarge(SentTooLargeDetail, message, side),
        InspectionException refused => refused.Status,
        _ => FromUnexpected(exception),
    };

    /// <summary>Maps the exception of a message inspector in an outgoing call.</summary>
    public static Status FromInspector(Exception exception) =>
        exception is RpcException { StatusCode: not StatusCode.OK } rpc
        ? rpc.Status
        : Because(exception, StatusCode.Internal, $"A message inspector failed. {Describe(exception)}");

    /// <summary>Maps an unexpected failure to start a call.</summary>
    public static Status FromUnexpected(Exception exception) =>
        Because(exception, StatusCode.Internal, $"{StartFailedDetail}{Describe(exception)}");

    /// <summary>Maps the failure to obtain credentials. The status keeps the user's exception.</summary>
    public static Status FromCredentialsFailure(Exception exception) => exception switch
    {
        RpcException rpc => Because(exception, rpc.StatusCode, rpc.Status.Detail),
        OperationCanceledException => Because(exception, StatusCode.Cancelled, ""),
        ObjectDisposedException => Disposed,
        IOException or SocketException or HttpRequestException =>
            Because(exception, StatusCode.Unavailable, $"{StartFailedDetail}{Describe(exception)}"),
        _ => FromUnexpected(exception),
    };

    /// <summary>Maps the failure to deserialise a response.</summary>
    public static Status FromUnreadableResponse(Exception exception) => exception switch
    {
        MessageEncodingException encoding => encoding.Status,
        InspectionException refused => refused.Status,
        _ => Because(exception, StatusCode.Internal, $"{ResponseUnreadableDetail} {Describe(exception)}"),
    };

    /// <summary>Returns the status for a message that does not match its encoding.</summary>
    public static Status BadEncoding(string what) => new(StatusCode.Internal, what);

    /// <summary>Returns the status for an encoding that the peer uses and this side does not support.</summary>
    public static Status EncodingUnknown(string encoding) => new(
        StatusCode.Unimplemented,
        $"Unsupported grpc-encoding value '{Name(encoding)}'. Supported encodings: {MessageEncoding.Supported}");

    /// <summary>Returns the status for an encoding that the local caller requests and the library lacks.</summary>
    public static Status EncodingNotFound(string encoding) => new(
        StatusCode.Internal,
        $"{StartFailedDetail}Could not find compression provider for '{encoding}'; "
        + $"there are {MessageEncoding.Supported}.");

    /// <summary>Returns the status of a call that is not sent because of the other side's limit.</summary>
    public static Status TooManyCalls(PeerLimits limits) => new(
        StatusCode.ResourceExhausted,
        $"The other side takes at most {limits.MaxCalls} calls at a time on one connection "
        + $"(its {CallLimit} and MaxQueuedCallsPerConnection).");

    /// <summary>Returns the status of a call whose request or head no more memory may be kept for.</summary>
    public static Status BufferFull(BufferBudget full) => new(
        StatusCode.ResourceExhausted,
        $"Of requests and answers, at most {full.LimitBytes} bytes are kept ({full.Option}).");

    /// <summary>Returns the status of a one-way call whose user has left too many behind.</summary>
    public static Status TooManyOrphans(BufferBudget left) => new(
        StatusCode.ResourceExhausted,
        $"One-way calls that closed connections of this user have left keep {left.LimitBytes} bytes ({left.Option}).");

    /// <summary>Returns the status of a call that can neither run nor wait for its turn.</summary>
    public static Status TooManyWaiting(string option, long limit, int maxQueued) => new(
        StatusCode.ResourceExhausted,
        $"The server runs at most {limit} calls at a time ({option}), "
        + $"and {maxQueued} more of this connection may wait (MaxQueuedCallsPerConnection).");

    /// <summary>Returns the status of a call that can neither run on its instance nor wait for that.</summary>
    public static Status TooManyWaitingForInstance(string option, int limit, string queuedOption, int queued) => new(
        StatusCode.ResourceExhausted,
        $"The instance of the service runs at most {limit} calls at a time ({option}), "
        + $"and {queued} more of one client may wait ({queuedOption}).");

    /// <summary>Returns the status of a call for which no instance of its service could be created.</summary>
    public static Status NotActivated(Exception exception, bool isDetailed) => new(
        StatusCode.Internal, isDetailed ? $"{NotActivatedDetail} {Describe(exception)}" : NotActivatedDetail);

    /// <summary>Returns the status of a one-way call of a method that is no unary one.</summary>
    public static Status OneWayNotUnary(string method) => new(
        StatusCode.Unimplemented, $"{method} has a stream; only unary methods can be called one-way.");

    /// <summary>The status of a callback to a client that offers no services.</summary>
    public static Status NoCallbacks => new(
        StatusCode.Unimplemented, "The client's channel offers no services (ShmChannelOptions.Callbacks.Services).");

    /// <summary>The status of a callback after its session has ended.</summary>
    public static Status SessionEnded => new(
        StatusCode.Unavailable, "The session has ended; the client's next connection begins another one.");

    /// <summary>The end of a callback whose client has given up the call for which it was made.</summary>
    public static Status CallerGone => new(
        StatusCode.Cancelled,
        "The client gave up the call for which this callback was made before the callback began.");

    /// <summary>Returns the status of a call whose chain of calls and callbacks is too long.</summary>
    public static Status CallbacksTooDeep(string option, int limit) => new(
        StatusCode.ResourceExhausted, $"More than {limit} calls and callbacks are in front of this one ({option}).");

    /// <summary>Returns the status of a call whose head did not come whole in time.</summary>
    public static Status HeadTooLate(TimeSpan limit) => new(
        StatusCode.DeadlineExceeded,
        $"The head of the request did not come whole within {limit.TotalSeconds} s (RequestHeadTimeout).");

    /// <summary>Returns the status for metadata over the limit.</summary>
    public static Status MetadataTooLarge(string what, long limitBytes) => new(
        StatusCode.ResourceExhausted,
        $"{what} is larger than the {limitBytes} bytes that are allowed ({MetadataOption}).");

    /// <summary>Returns the status of a failure whose details are left out, because they exceed the limit.</summary>
    public static Status WithoutDetails(in Status status, long limitBytes) => new(
        status.StatusCode,
        $"{status.Detail} (Without its details: the response's metadata would be larger than the {limitBytes} bytes "
        + $"that are allowed ({MetadataOption}).)");

    /// <summary>Maps the exception of a handler to the status that its client sees.</summary>
    public static Status FromHandlerException(Exception exception, bool isDetailed, string side) => exception switch
    {
        RpcException rpc => rpc.Status,
        MessageTooLargeException message => TooLarge(SentTooLargeDetail, message, side),
        _ => new Status(
            StatusCode.Unknown, isDetailed ? $"{HandlerThrewDetail} {Describe(exception)}" : HandlerThrewDetail),
    };

    /// <summary>The status of a call whose method ended while parts of a message were still to be sent.</summary>
    public static Status MessageBrokenOff { get; } =
        new(StatusCode.Unknown, "The method ended while a response was being written.");

    /// <summary>Returns the status for a codec that the server does not offer.</summary>
    public static Status CodecUnknown(string asked, IEnumerable<string> offered) => new(
        StatusCode.Unimplemented,
        $"The client uses the codec '{Name(asked)}'; "
        + $"the server offers {string.Join(", ", offered.Select(name => $"'{name}'"))}.");

    // A peer that reads nothing makes this process keep the text, for each of its calls.
    private static string Name(string ofPeer) => PeerText.Escape(ofPeer, PeerText.LongestName);

    // What programs compare comes first. The rest goes over the wire, but not the exception, which the log needs.
    private static Status TooLarge(string detail, MessageTooLargeException exception, string side) =>
        new(StatusCode.ResourceExhausted, $"{detail} {exception.Explain(side)}", exception);

    /// <summary>
    /// Returns a status with a user's exception, or without it if its ToString throws: building an RpcException from
    /// the status, or logging it, would fail and hide the outcome of the call.
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

    /// <summary>Returns the types and messages of an exception and its inner exceptions, the outermost first.</summary>
    private static string Describe(Exception exception)
    {
        string text = $"{exception.GetType().Name}: {MessageOf(exception)}";
        return exception.InnerException is null ? text : $"{text} {Describe(exception.InnerException)}";
    }

    // Exception.Message may be user code, and the end of a call must not depend on it.
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
