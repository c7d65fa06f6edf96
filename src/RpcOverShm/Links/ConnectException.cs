namespace RpcOverShm.Links;

/// <summary>
/// A connection or listener could not be made. The message names the address and the file that was tried.
/// </summary>
internal sealed class ConnectException(ConnectFailure failure, string message, Exception? inner = null)
    : Exception(message, inner)
{
    public ConnectFailure Failure { get; } = failure;

    /// <summary>Makes the public exception of a failure, with other words. Null where no user sees it.</summary>
    public Func<ConnectException, string, Exception>? Publisher { get; set; }

    /// <summary>The public exception of this failure; this one without a publisher.</summary>
    /// <param name="message">Its words; null for those of this one.</param>
    public Exception Publish(string? message = null) => Publisher?.Invoke(this, message ?? Message) ?? this;
}

/// <summary>The kinds of failure to connect or to listen: the public errors, under their numbers.</summary>
internal enum ConnectFailure
{
    /// <summary>No server is there: no socket, or nobody listens on it.</summary>
    NotListening,

    /// <summary>The handshake did not end in time.</summary>
    TimedOut,

    /// <summary>What listens there does not speak this protocol.</summary>
    NotThisProtocol,

    /// <summary>No common version of the protocol.</summary>
    VersionMismatch,

    /// <summary>Calls were wanted and a byte stream is served, or the reverse.</summary>
    PurposeMismatch,

    /// <summary>The other side belongs to another user.</summary>
    AccessDenied,

    /// <summary>
    /// The other side closed the connection in the middle of the handshake, or refused it, for instance because it
    /// is stopping.
    /// </summary>
    Refused,

    /// <summary>A live server or another program holds the address.</summary>
    AddressInUse,

    /// <summary>The system refused a step: memory, files, sockets.</summary>
    SystemError,
}
