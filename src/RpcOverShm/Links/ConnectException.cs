namespace RpcOverShm.Links;

/// <summary>
/// The failure to make a connection or a listener. The message names the address and the file that was tried.
/// </summary>
internal sealed class ConnectException(ConnectFailure failure, string message, Exception? inner = null)
    : Exception(message, inner)
{
    public ConnectFailure Failure { get; } = failure;

    /// <summary>
    /// Creates the public exception for this failure and a message. Null if the exception does not reach a user.
    /// </summary>
    public Func<ConnectException, string, Exception>? Publisher { get; set; }

    /// <summary>Returns the public exception for this failure, or this exception if there is no publisher.</summary>
    /// <param name="message">The message of the public exception; null for the message of this one.</param>
    public Exception Publish(string? message = null) => Publisher?.Invoke(this, message ?? Message) ?? this;
}

/// <summary>The reasons for a failure to connect or to listen, with the numbers of the public errors.</summary>
internal enum ConnectFailure
{
    /// <summary>There is no socket at the address, or no server listens on it.</summary>
    NotListening,

    /// <summary>The handshake did not complete in time.</summary>
    TimedOut,

    /// <summary>The program that listens at the address does not speak this protocol.</summary>
    NotThisProtocol,

    /// <summary>The two sides have no version of the protocol in common.</summary>
    VersionMismatch,

    /// <summary>The client requested calls and the server serves byte streams, or the reverse.</summary>
    PurposeMismatch,

    /// <summary>The other side belongs to another user.</summary>
    AccessDenied,

    /// <summary>The server refused the connection (because it stops, for example) or closed it too early.</summary>
    Refused,

    /// <summary>A live server or another program holds the address.</summary>
    AddressInUse,

    /// <summary>The operating system refused memory, a file or a socket.</summary>
    SystemError,
}
