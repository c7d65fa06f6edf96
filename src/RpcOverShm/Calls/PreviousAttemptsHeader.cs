using Grpc.Core;
using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>
/// The request metadata entry that tells the server about previous attempts (gRFC A6). The library adds it itself, so
/// it does not count against metadata limits.
/// </summary>
internal static class PreviousAttemptsHeader
{
    public const string Key = "grpc-previous-rpc-attempts";

    // The digits of any int. A longer value is not the library's, and it counts.
    private const int MaxDigits = 10;

    /// <summary>Returns the size of a request's metadata as the limits count it.</summary>
    public static long MeasureBytes(Metadata request)
    {
        long size = MetadataCodec.MeasureBytes(request);
        return size > 0 && request.Get(Key) is { Value.Length: <= MaxDigits } entry
            ? size - MetadataCodec.MeasureBytes(entry)
            : size;
    }
}
