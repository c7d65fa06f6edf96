using Google.Protobuf;
using Grpc.Core;

namespace RpcOverShm.Protobuf;

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
