using System.Collections.Frozen;
using Grpc.Core;

namespace RpcOverShm.Servers;

/// <summary>
/// Metadata keys that over HTTP/2 are the transport's own: gRPC shows them neither to methods nor to clients. Nothing
/// here reads them, and whoever sends them all the same must not find them on the other side. Holds nothing of a call.
/// </summary>
internal static class ReservedMetadata
{
    private static readonly FrozenSet<string> s_ofRequests = FrozenSet.Create(
        StringComparer.Ordinal,
        "grpc-encoding",
        "grpc-accept-encoding",
        "grpc-timeout",
        "content-encoding",
        "content-type",
        "te",
        "host",
        "accept-encoding");

    private static readonly FrozenSet<string> s_ofResponses = FrozenSet.Create(
        StringComparer.Ordinal,
        "grpc-status",
        "grpc-message",
        "grpc-encoding",
        "grpc-accept-encoding",
        "content-encoding",
        "content-type");

    /// <summary>What a method sees of a request's metadata; nothing where there is none.</summary>
    public static Metadata HideFromMethod(Metadata? metadata) =>
        metadata is null ? Metadata.Empty : Without(metadata, s_ofRequests);

    /// <summary>What a client sees of a response's headers or trailers.</summary>
    public static Metadata HideFromClient(Metadata metadata) => Without(metadata, s_ofResponses);

    // A copy only where there is something to hide, which is hardly ever.
    private static Metadata Without(Metadata metadata, FrozenSet<string> hidden)
    {
        foreach (Metadata.Entry entry in metadata)
        {
            if (hidden.Contains(entry.Key))
            {
                return [.. metadata.Where(other => !hidden.Contains(other.Key))];
            }
        }

        return metadata;
    }
}
