using System.Globalization;
using Grpc.Core;

namespace RpcOverShm.Calls;

/// <summary>The names of status codes as gRPC's specification writes them, for traces and metrics.</summary>
internal static class StatusNames
{
    private static readonly string[] s_names =
    [
        "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
        "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
        "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
    ];

    /// <summary>Returns the name of a code; its number if it is none of gRPC's.</summary>
    public static string Of(StatusCode code) => (uint)code < (uint)s_names.Length
        ? s_names[(int)code]
        : ((int)code).ToString(CultureInfo.InvariantCulture);
}
