namespace RpcOverShm.Connections;

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
