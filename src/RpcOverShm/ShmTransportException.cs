using RpcOverShm.Systems;

namespace RpcOverShm;

/// <summary>The exception that is thrown when a server or listener cannot start, or a stream cannot connect.</summary>
/// <remarks>
/// Calls never throw it. If a call finds no connection, it fails with an RPC status whose detail names the cause and
/// whose <see cref="Grpc.Core.Status.DebugException"/> is a <see cref="ShmTransportException"/>.
/// </remarks>
public sealed class ShmTransportException : IOException
{
    /// <param name="cause">
    /// The failure. It does not become the inner exception, which would only repeat its message.
    /// </param>
    /// <param name="message">The message; null for that of the failure.</param>
    internal ShmTransportException(ConnectException cause, string? message = null)
        : base(message ?? cause.Message, cause.InnerException) =>
        Error = (ShmTransportError)cause.Failure;

    /// <summary>Gets the cause of the failure.</summary>
    /// <remarks>
    /// <see cref="Exception.Message"/> describes the failure, including the address and the file. In the
    /// <see cref="Grpc.Core.Status.DebugException"/> of a status with a detail, it only names this error.
    /// </remarks>
    public ShmTransportError Error { get; }
}
