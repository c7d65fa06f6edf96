using Google.Protobuf;
using Google.Protobuf.Reflection;
using Grpc.Core;

namespace RpcOverShm.Protobuf.Faults;

/// <summary>An entry of the map: an exception, and how it is sent and made.</summary>
/// <param name="StatusCode">The status code of the call.</param>
/// <param name="Detail">The type of the detail.</param>
/// <param name="ToDetail">Makes the detail of an exception.</param>
/// <param name="ToException">Makes the exception from a detail; null if the client has no such exception.</param>
internal sealed record Fault(
    StatusCode StatusCode,
    MessageDescriptor Detail,
    Func<Exception, IMessage?> ToDetail,
    Func<IMessage, RpcException, Exception?>? ToException)
{
    /// <summary>Checks the status code of a failure.</summary>
    public static void ThrowIfOk(StatusCode statusCode)
    {
        if (statusCode == StatusCode.OK)
        {
            throw new ArgumentOutOfRangeException(
                nameof(statusCode), statusCode, "The status code of a failure is not OK.");
        }
    }
}
