using Grpc.Testing;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>Options that select compression in the interop cases.</summary>
internal static class Compression
{
    public static BoolValue Yes => new() { Value = true };

    public static BoolValue No => new() { Value = false };

    /// <summary>Compresses the call's requests.</summary>
    public static CallOptions Selected => new(new Metadata { { InteropTestService.SelectCompressionKey, "gzip" } });

    /// <summary>Selects compression, but suppresses it for the messages.</summary>
    public static CallOptions Suppressed => Selected.WithWriteOptions(new WriteOptions(WriteFlags.NoCompress));
}
