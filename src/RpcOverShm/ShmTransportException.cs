using RpcOverShm.Links;

namespace RpcOverShm;

/// <summary>
/// A server or listener could not be started, or a stream not be connected. Calls never throw it: a call that finds no
/// connection ends with an RPC status, whose detail says why and whose
/// <see cref="Grpc.Core.Status.DebugException"/> is a <see cref="ShmTransportException"/>.
/// </summary>
public sealed class ShmTransportException : IOException
{
    /// <param name="cause">The failure. It is no inner exception: that would say the same once more.</param>
    /// <param name="message">The text for people; null for the failure's.</param>
    internal ShmTransportException(ConnectException cause, string? message = null)
        : base(message ?? cause.Message, cause.InnerException) =>
        Error = (ShmTransportError)cause.Failure;

    /// <summary>
    /// What went wrong. <see cref="Exception.Message"/> says it for people, with the address and the file tried; where
    /// the exception belongs to a status with a detail, the detail says it instead.
    /// </summary>
    public ShmTransportError Error { get; }
}
