using System.Collections.Frozen;
using Grpc.Core;

namespace RpcOverShm.Servers;

/// <summary>
/// Hides the metadata keys that gRPC over HTTP/2 reserves for the transport: neither methods nor clients see them. An
/// application's entries with these keys are dropped; the library adds its entries after that. Stateless.
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

    /// <summary>Returns the part of a request's metadata that its method sees; empty if there is none.</summary>
    public static Metadata HideFromMethod(Metadata? metadata) =>
        metadata is null ? Metadata.Empty : Without(metadata, s_ofRequests);

    /// <summary>Returns the part of a response's headers or trailers that the client sees.</summary>
    public static Metadata HideFromClient(Metadata metadata) => Without(metadata, s_ofResponses);

    // Copies only if there is something to hide, which is rare.
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
