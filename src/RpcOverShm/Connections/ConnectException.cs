namespace RpcOverShm.Connections;

/// <summary>
/// A connection or listener could not be made. The message names the address and the file that was tried.
/// </summary>
internal sealed class ConnectException(ConnectFailure failure, string message, Exception? inner = null)
    : Exception(message, inner)
{
    public ConnectFailure Failure { get; } = failure;
}
