using Grpc.Testing;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>How the interop cases of compression select it.</summary>
internal static class Compression
{
    public static BoolValue Yes => new() { Value = true };

    public static BoolValue No => new() { Value = false };

    /// <summary>The call's requests are compressed.</summary>
    public static CallOptions Selected => new(new Metadata { { InteropTestService.SelectCompressionKey, "gzip" } });

    /// <summary>The same, and its messages say that they are not to be.</summary>
    public static CallOptions Suppressed => Selected.WithWriteOptions(new WriteOptions(WriteFlags.NoCompress));
}
