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

/// <summary>
/// A failure of a call with a typed detail: a method throws it, and the client of the call catches it.
/// </summary>
/// <typeparam name="TDetail">The type of the detail, a Protobuf message.</typeparam>
/// <remarks>
/// <para>
/// The server needs a <see cref="ShmFaultServerInterceptor"/>, which sends every such exception. The client needs a
/// <see cref="ShmFaultClientInterceptor"/> whose map has the type of the detail; otherwise it gets the
/// <see cref="RpcException"/>.
/// </para>
/// <para>A class of the application may derive from it.</para>
/// </remarks>
public class ShmFaultException<TDetail> : ShmFaultException
    where TDetail : class, IMessage<TDetail>, new()
{
    /// <summary>Creates the exception.</summary>
    /// <param name="statusCode">The status code of the call; not <see cref="StatusCode.OK"/>.</param>
    /// <param name="detail">The detail, which the exception keeps: it must not change any more.</param>
    /// <param name="message">The text of the status, which the client sees; null means an empty one.</param>
    /// <param name="innerException">
    /// The cause, which is not sent; null for none. At a client it is the <see cref="RpcException"/> of the call.
    /// </param>
    /// <exception cref="ArgumentNullException">The detail is null.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The status code is OK.</exception>
    public ShmFaultException(
        StatusCode statusCode, TDetail detail, string? message = null, Exception? innerException = null)
        : base(statusCode, message, innerException)
    {
        ArgumentNullException.ThrowIfNull(detail);
        Detail = detail;
    }

    /// <summary>Gets the detail.</summary>
    public TDetail Detail { get; }

    /// <inheritdoc/>
    public sealed override IMessage DetailMessage => Detail;
}
