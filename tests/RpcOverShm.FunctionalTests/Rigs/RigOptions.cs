using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>What a test wants of its rig. The defaults are those of gRPC.</summary>
internal sealed record RigOptions
{
    private const int DefaultReceiveLimit = 4 << 20;

    public static RigOptions AnySize { get; } = new() { ServerMaxReceive = null, ClientMaxReceive = null };

    public int? ServerMaxReceive { get; init; } = DefaultReceiveLimit;

    public int? ServerMaxSend { get; init; }

    public int? ClientMaxReceive { get; init; } = DefaultReceiveLimit;

    public int? ClientMaxSend { get; init; }

    public IReadOnlyList<Interceptor> ServerInterceptors { get; init; } = [];

    /// <summary>Shared memory only: the capacity of both rings.</summary>
    public int RingCapacity { get; init; } = 1 << 20;

    /// <summary>Shared memory only.</summary>
    public int ServerMaxMetadata { get; init; } = 64 << 10;

    /// <summary>Shared memory only.</summary>
    public int ClientMaxMetadata { get; init; } = 64 << 10;

    /// <summary>Shared memory only.</summary>
    public bool HasDetailedErrors { get; init; }

    /// <summary>Shared memory only.</summary>
    public ShmCodec? ClientCodec { get; init; }

    /// <summary>Shared memory only.</summary>
    public IReadOnlyList<ShmCodec> ServerCodecs { get; init; } = [];
}
