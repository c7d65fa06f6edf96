using Grpc.Core;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// All log messages. An event id is never reused: 1-99 rendezvous and handshake, 100-199 connections, 200-299 outgoing
/// calls, 300-399 incoming calls and the server, 400-499 byte streams.
/// </summary>
internal static partial class ShmLog
{
    [LoggerMessage(1, LogLevel.Warning, "Accepting clients at {Address} failed; trying again.")]
    public static partial void AcceptFailed(ILogger logger, string address, Exception exception);

    [LoggerMessage(2, LogLevel.Warning, "The handshake with a client at {Address} failed: {Problem}")]
    public static partial void HandshakeFailed(ILogger logger, string address, string problem, Exception exception);

    [LoggerMessage(3, LogLevel.Debug, "Client process {ProcessId} closed before its hello.")]
    public static partial void ClientLeftHandshake(ILogger logger, int processId);

    [LoggerMessage(4, LogLevel.Warning, "A client was refused: {Reason}")]
    public static partial void ClientRefused(ILogger logger, string reason);

    [LoggerMessage(5, LogLevel.Debug, "A client's handshake broke off: {Problem}")]
    public static partial void HandshakeBroken(ILogger logger, string problem, Exception exception);

    [LoggerMessage(6, LogLevel.Information, "Listening at {Path} ({Address}).")]
    public static partial void Listening(ILogger logger, string path, string address);

    [LoggerMessage(7, LogLevel.Information, "Stopped listening at {Path} ({Address}).")]
    public static partial void StoppedListening(ILogger logger, string path, string address);

    [LoggerMessage(
        8, LogLevel.Warning, "The socket of {Address} was removed or replaced; the server listens again, at {Path}.")]
    public static partial void ListeningAgain(ILogger logger, string address, string path);

    [LoggerMessage(
        9,
        LogLevel.Error,
        "No client can find the server at {Path} ({Address}): the socket was removed, and {Problem}. The server goes "
        + "on with the clients that it has, and listens again when the path is free.")]
    public static partial void SocketGone(ILogger logger, string path, string address, string problem);

    /// <summary>Logs that the names of this process are in another directory than the environment says.</summary>
    [LoggerMessage(
        10,
        LogLevel.Warning,
        "{Reason}. Names (shm://name) are in {Directory} instead, for clients and servers alike. Correct the variable, "
        + "or set RuntimeDirectory on both sides.")]
    public static partial void VariableNotUsed(ILogger logger, string reason, string directory);

    [LoggerMessage(
        11, LogLevel.Information, "Removed the sockets and lock files of {Count} dead servers from {Directory}.")]
    public static partial void DeadServersRemoved(ILogger logger, int count, string directory);

    [LoggerMessage(100, LogLevel.Debug, "Connection {ConnectionId} with {Peer} is open.")]
    public static partial void ConnectionOpened(ILogger logger, Guid connectionId, string peer);

    [LoggerMessage(101, LogLevel.Debug, "Connection {ConnectionId} with {Peer} closed: {Reason}")]
    public static partial void ConnectionClosed(ILogger logger, Guid connectionId, string peer, string reason);

    [LoggerMessage(102, LogLevel.Information, "Connection {ConnectionId} lost its peer, {Peer}: {Reason}")]
    public static partial void PeerLost(ILogger logger, Guid connectionId, string peer, string reason);

    [LoggerMessage(
        103,
        LogLevel.Error,
        "Connection {ConnectionId} with {Peer} was closed because the peer broke the protocol: {Reason}")]
    public static partial void PeerViolation(
        ILogger logger, Guid connectionId, string peer, string reason, Exception? exception);

    [LoggerMessage(104, LogLevel.Error, "Connection {ConnectionId} with {Peer} failed: {Reason}")]
    public static partial void ConnectionFailed(
        ILogger logger, Guid connectionId, string peer, string reason, Exception? exception);

    [LoggerMessage(
        105,
        LogLevel.Warning,
        "Connection {ConnectionId} with {Peer}: a time-out found data that nobody was woken for. Please report this, "
        + "unless the peer was stopped or had no processor just then.")]
    public static partial void LostWakeup(ILogger logger, Guid connectionId, string peer);

    [LoggerMessage(
        107, LogLevel.Error, "The peer of connection {ConnectionId}, {Peer}, closed it and said why: {Reason}")]
    public static partial void PeerComplained(ILogger logger, Guid connectionId, string peer, string reason);

    [LoggerMessage(
        108,
        LogLevel.Error,
        "Connection {ConnectionId}: code that ran inline threw; its task scheduler or context is to blame.")]
    public static partial void UserCodeFailed(ILogger logger, Guid connectionId, Exception exception);

    /// <summary>Logs that a limit was reached; written by <see cref="LimitEvents"/> only.</summary>
    [LoggerMessage(EventId = 109, Message = "{Option} = {Limit} is reached: {Effect}")]
    public static partial void LimitReached(
        ILogger logger, LogLevel level, string option, long limit, string effect);

    /// <summary>Logs that only the end of the socket tells the end of the peer.</summary>
    [LoggerMessage(
        115, LogLevel.Debug, "Connection {ConnectionId}: the process of {Peer} is not watched, because {Reason}.")]
    public static partial void ProcessNotWatched(ILogger logger, Guid connectionId, string peer, string reason);

    /// <summary>Logs that a ring stays small, because the system has no memory for a larger one.</summary>
    [LoggerMessage(
        116,
        LogLevel.Warning,
        "Connection {ConnectionId} with {Peer}: the ring stays at {Capacity} bytes and does not grow to {Wanted}: "
        + "{Reason}. Only throughput suffers. Free memory, or lower Ring.Capacity.")]
    public static partial void RingNotGrown(
        ILogger logger, Guid connectionId, string peer, long capacity, long wanted, string reason);

    /// <summary>Logs that the garbage collector has found a channel that nobody had disposed.</summary>
    [LoggerMessage(
        118,
        LogLevel.Warning,
        "A channel to {Address} was dropped without Dispose: it kept its connections until the garbage collector found "
        + "it. They are closed now. Use one channel for each server, and dispose it.")]
    public static partial void ChannelDropped(ILogger logger, string address);

    /// <summary>Logs that a rented or received payload was left to the garbage collector.</summary>
    [LoggerMessage(
        120,
        LogLevel.Warning,
        "Connection {ConnectionId} with {Peer}: a payload of {Length} bytes was never disposed, and kept its memory "
        + "until the garbage collector found it. Dispose each payload that is rented or received.")]
    public static partial void PayloadLeaked(ILogger logger, Guid connectionId, string peer, int length);

    /// <summary>Logs that payloads are copied because a data file could not be made, passed or mapped.</summary>
    [LoggerMessage(
        121,
        LogLevel.Warning,
        "Connection {ConnectionId} with {Peer}: payloads are copied, because their memory cannot be shared: {Reason}")]
    public static partial void PayloadsCopied(ILogger logger, Guid connectionId, string peer, string reason);

    /// <summary>Logs that the option for loans has no effect here.</summary>
    [LoggerMessage(
        122,
        LogLevel.Warning,
        "Loans.AllowLoanedPayloads has no effect on this system: payloads are copied.")]
    public static partial void LoansNotSupported(ILogger logger);

    /// <summary>Logs that the messages of a topic come one by one, because this side does not map it.</summary>
    [LoggerMessage(
        123,
        LogLevel.Warning,
        "Connection {ConnectionId} with {Peer}: the messages of a topic come one by one, because it "
        + "is not mapped: {Reason}")]
    public static partial void TopicNotMapped(ILogger logger, Guid connectionId, string peer, string reason);

    /// <summary>Logs that the messages of a topic are written one by one, because it has no shared memory.</summary>
    [LoggerMessage(
        124,
        LogLevel.Warning,
        "The messages of a topic are copied for each client, because it has no shared memory: {Reason}")]
    public static partial void TopicNotShared(ILogger logger, string reason);

    /// <summary>Logs that the option for handles has no effect here.</summary>
    [LoggerMessage(
        125, LogLevel.Warning, "Handles.AllowHandles has no effect on this system: calls with handles fail.")]
    public static partial void HandlesNotSupported(ILogger logger);

    [LoggerMessage(200, LogLevel.Debug, "Call of {Method} was not started: {Reason}")]
    public static partial void CallNotStarted(ILogger logger, string method, string reason, Exception? exception);

    [LoggerMessage(201, LogLevel.Debug, "Call of {Method} exceeded its deadline.")]
    public static partial void DeadlineExceeded(ILogger logger, string method);

    /// <summary>Logs that a call ended because a message exceeds the limit for sending or receiving.</summary>
    [LoggerMessage(
        202,
        LogLevel.Information,
        "{Method}: a message of {Size} bytes exceeds the {Limit} bytes that {Option} of the {Side} allows.")]
    public static partial void MessageTooLarge(
        ILogger logger, string method, long size, long limit, string option, string side);

    /// <summary>Logs that one attempt of a retried call is the last one, with the name of the reason.</summary>
    [LoggerMessage(203, LogLevel.Debug, "{Method} is not retried after attempt {Attempt}: {Reason}.")]
    public static partial void CallCommitted(ILogger logger, string method, int attempt, string reason);

    /// <summary>Logs why there is no connection for calls and users that wait for one.</summary>
    [LoggerMessage(
        204,
        LogLevel.Warning,
        "There is no connection to {Address} after {Seconds} s, and {Count} caller(s) wait for it: {Reason}")]
    public static partial void NotConnected(
        ILogger logger, string address, long seconds, int count, string reason);

    [LoggerMessage(300, LogLevel.Information, "{Method} ended with status {StatusCode}.")]
    public static partial void MethodEndedWithStatus(
        ILogger logger, string method, StatusCode statusCode, Exception exception);

    [LoggerMessage(301, LogLevel.Error, "{Method} threw an exception.")]
    public static partial void MethodThrew(ILogger logger, string method, Exception exception);

    [LoggerMessage(302, LogLevel.Information, "{Method} ended after its call was cancelled.")]
    public static partial void MethodEndedAfterCancel(ILogger logger, string method, Exception exception);

    /// <summary>Logs a method's exception with the fitting one of the three messages above. Never throws.</summary>
    public static void MethodFailed(
        ILogger logger, string method, Exception exception, StatusCode statusCode, bool isEnded)
    {
        try
        {
            if (exception is RpcException)
            {
                MethodEndedWithStatus(logger, method, statusCode, exception);
            }
            else if (isEnded && exception is OperationCanceledException or IOException)
            {
                MethodEndedAfterCancel(logger, method, exception);
            }
            else
            {
                MethodThrew(logger, method, exception);
            }
        }
        catch (Exception)
        {
            // A logger formats the exception, which runs user code (Message, ToString) that may throw. The client must
            // get its status all the same.
        }
    }

    [LoggerMessage(303, LogLevel.Debug, "{Method} exceeded its deadline.")]
    public static partial void ServerDeadlineExceeded(ILogger logger, string method);

    /// <summary>Logs a call of a method that the server, or the client for a callback, does not have.</summary>
    [LoggerMessage(
        304,
        LogLevel.Warning,
        "{Method} was called, but the {Side} of {Address} does not have it: it offers {Services}. Add the service "
        + "there, or correct the caller.")]
    public static partial void MethodUnimplemented(
        ILogger logger, string method, string side, string address, string services);

    [LoggerMessage(
        305, LogLevel.Error, "The server at {Address} stops; code that waited for its token Stopping threw.")]
    public static partial void StoppingCallbackThrew(ILogger logger, string address, Exception exception);

    [LoggerMessage(
        306, LogLevel.Warning, "{Count} log entries were dropped: at most {Limit} may wait for the logger at a time.")]
    public static partial void EntriesDropped(ILogger logger, int count, int limit);

    [LoggerMessage(307, LogLevel.Error, "A handler for the start or the end of session {Peer} threw an exception.")]
    public static partial void SessionHandlerThrew(ILogger logger, string peer, Exception exception);

    [LoggerMessage(315, LogLevel.Debug, "Session {Peer} had no call for IdleTimeout and is asked to leave.")]
    public static partial void SessionIdle(ILogger logger, string peer);

    [LoggerMessage(320, LogLevel.Error, "An instance of {Service} could not be created for {Method}.")]
    public static partial void ActivationFailed(ILogger logger, string service, string method, Exception exception);

    [LoggerMessage(321, LogLevel.Error, "The release of an instance of {Service} threw an exception.")]
    public static partial void ReleaseFailed(ILogger logger, string service, Exception exception);

    /// <summary>Logs a one-way call that failed without an exception of its method, or was refused.</summary>
    [LoggerMessage(
        308, LogLevel.Warning, "One-way call of {Method} by {Peer} failed with {StatusCode}: {Detail}")]
    public static partial void OneWayCallFailed(
        ILogger logger, string method, string peer, StatusCode statusCode, string detail);

    [LoggerMessage(309, LogLevel.Error, "The handler for failures of one-way calls threw an exception, for {Method}.")]
    public static partial void OneWayHandlerThrew(ILogger logger, string method, Exception exception);

    /// <summary>Logs that the garbage collector has found a byte stream that nobody had disposed.</summary>
    [LoggerMessage(
        400,
        LogLevel.Warning,
        "A stream to {Peer} was dropped without Dispose: it kept its connection until the garbage collector found it. "
        + "It is closed now. Dispose each stream.")]
    public static partial void StreamDropped(ILogger logger, string peer);
}
