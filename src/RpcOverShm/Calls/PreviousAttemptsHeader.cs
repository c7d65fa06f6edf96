using System.Globalization;
using Grpc.Core;
using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>
/// The metadata entry that tells about previous attempts (gRFC A6): the server in the request, the client in the
/// response's headers. The library adds it itself, so it does not count against metadata limits.
/// </summary>
internal static class PreviousAttemptsHeader
{
    public const string Key = "grpc-previous-rpc-attempts";

    // The digits of any int. A longer value is not the library's, and it counts.
    private const int MaxDigits = 10;

    /// <summary>Returns a copy of metadata with the entry behind the others.</summary>
    public static Metadata AddTo(Metadata? metadata, int previousAttempts) =>
        [.. metadata ?? [], new Metadata.Entry(Key, previousAttempts.ToString(CultureInfo.InvariantCulture))];

    /// <summary>Returns the size of a request's metadata as the limits count it.</summary>
    public static long MeasureBytes(Metadata request)
    {
        long size = MetadataCodec.MeasureBytes(request);
        return size > 0 && request.Get(Key) is { Value.Length: <= MaxDigits } entry
            ? size - MetadataCodec.MeasureBytes(entry)
            : size;
    }
}
