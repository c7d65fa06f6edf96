namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>
/// A server and a channel to it, of which is known how many bytes have gone over: what the API does not tell of
/// compression, the wire does. Messages of nothing but zeros become a thousandth.
/// </summary>
internal abstract class MeteredRig : IAsyncDisposable
{
    public abstract ChannelBase Channel { get; }

    /// <summary>Bytes that the client has sent so far, with all that frames them.</summary>
    public abstract long RequestBytes { get; }

    /// <summary>Bytes that the server has sent so far, with all that frames them.</summary>
    public abstract long ResponseBytes { get; }

    public static async Task<MeteredRig> StartAsync(RigKind kind, ServerServiceDefinition service) => kind switch
    {
        RigKind.Shm => await MeteredShmRig.StartAsync(service),
        RigKind.GrpcCore => await MeteredGrpcCoreRig.StartAsync(service),
        _ => await MeteredGrpcDotNetRig.StartAsync(service),
    };

    public abstract ValueTask DisposeAsync();
}
