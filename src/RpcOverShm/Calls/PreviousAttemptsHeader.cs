using Grpc.Core;
using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>
/// The entry of a request's metadata by which its server sees that the call is being tried again (gRFC A6). It is the
/// library's own, and so no limit of metadata counts it.
/// </summary>
internal static class PreviousAttemptsHeader
{
    public const string Key = "grpc-previous-rpc-attempts";

    // As many as any int has. What is longer no library has written, and it is counted.
    private const int MaxDigits = 10;

    /// <summary>The size of a request's metadata as limits count it.</summary>
    public static long MeasureBytes(Metadata request)
    {
        long size = MetadataCodec.MeasureBytes(request);
        return size > 0 && request.Get(Key) is { Value.Length: <= MaxDigits } entry
            ? size - MetadataCodec.MeasureBytes(entry)
            : size;
    }
}
