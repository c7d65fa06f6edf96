namespace RpcOverShm.Systems;

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
    public Exception ToPublicException(string? message = null) => Publisher?.Invoke(this, message ?? Message) ?? this;
}

/// <summary>The reasons for a failure to connect or to listen; numbered like ShmTransportError, for a cast.</summary>
internal enum ConnectFailure
{
    NotListening,
    TimedOut,
    NotThisProtocol,
    VersionMismatch,
    PurposeMismatch,
    AccessDenied,
    Refused,
    AddressInUse,
    SystemError,
}
