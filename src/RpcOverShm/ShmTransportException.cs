using RpcOverShm.Connections;

namespace RpcOverShm;

/// <summary>
/// A server or listener could not be started, or a stream not be connected. Calls never throw it: they end with an RPC
/// status, whose <see cref="Grpc.Core.Status.DebugException"/> tells the same.
/// </summary>
public sealed class ShmTransportException : IOException
{
    internal ShmTransportException(ConnectException cause)
        : base(cause.Message, cause) =>
        Error = ErrorOf(cause.Failure);

    /// <summary>
    /// What went wrong. <see cref="Exception.Message"/> says it for people, with the address and the file tried.
    /// </summary>
    public ShmTransportError Error { get; }

    private static ShmTransportError ErrorOf(ConnectFailure failure) => failure switch
    {
        ConnectFailure.NotListening => ShmTransportError.NotListening,
        ConnectFailure.TimedOut => ShmTransportError.TimedOut,
        ConnectFailure.NotThisProtocol => ShmTransportError.NotThisProtocol,
        ConnectFailure.VersionMismatch => ShmTransportError.VersionMismatch,
        ConnectFailure.PurposeMismatch => ShmTransportError.PurposeMismatch,
        ConnectFailure.AccessDenied => ShmTransportError.AccessDenied,
        ConnectFailure.AddressInUse => ShmTransportError.AddressInUse,
        ConnectFailure.Stopping or ConnectFailure.Refused => ShmTransportError.Refused,
        _ => ShmTransportError.SystemError,
    };
}
