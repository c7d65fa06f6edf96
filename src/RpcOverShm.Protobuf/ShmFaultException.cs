using Google.Protobuf;
using Grpc.Core;
using RpcOverShm.Protobuf.Faults;

namespace RpcOverShm.Protobuf;

/// <summary>A failure of a call with a typed detail, whatever the type of the detail.</summary>
/// <remarks>Thread-safe, as long as nobody changes the detail.</remarks>
public abstract class ShmFaultException : Exception
{
    private protected ShmFaultException(StatusCode statusCode, string? message, Exception? innerException)
        : base(message ?? "", innerException)
    {
        Fault.ThrowIfOk(statusCode);
        StatusCode = statusCode;
    }

    /// <summary>Gets the status code of the call.</summary>
    public StatusCode StatusCode { get; }

    /// <summary>Gets the detail as a message of any type.</summary>
    public abstract IMessage DetailMessage { get; }
}
