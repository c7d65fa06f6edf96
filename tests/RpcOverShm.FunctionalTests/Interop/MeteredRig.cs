namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>
/// A server and a channel with byte counters, which show compression where the API does not. A compressed message of
/// zeros shrinks to a thousandth.
/// </summary>
internal abstract class MeteredRig : IAsyncDisposable
{
    public abstract ChannelBase Channel { get; }

    /// <summary>The number of bytes that the client has sent, including framing.</summary>
    public abstract long RequestBytes { get; }

    /// <summary>The number of bytes that the server has sent, including framing.</summary>
    public abstract long ResponseBytes { get; }

    public static async Task<MeteredRig> StartAsync(RigKind kind, ServerServiceDefinition service) => kind switch
    {
        RigKind.Shm => await MeteredShmRig.StartAsync(service),
        RigKind.GrpcCore => await MeteredGrpcCoreRig.StartAsync(service),
        _ => await MeteredGrpcDotNetRig.StartAsync(service),
    };

    public abstract ValueTask DisposeAsync();
}
