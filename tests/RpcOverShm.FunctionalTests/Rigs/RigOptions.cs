using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>The options of a rig. The defaults are those of gRPC.</summary>
internal sealed record RigOptions
{
    private const int DefaultReceiveLimit = 4 << 20;
    private const string SchedulingVariable = "RPCOVERSHM_TEST_SCHEDULING";

    /// <summary>Whether the environment selects the scheduling mode of shared memory.</summary>
    public static bool IsSchedulingChosen => ChosenScheduling is { Length: > 0 };

    /// <summary>
    /// The scheduling mode of servers and channels: the library's default, or what the environment selects, so that all
    /// tests can run in each mode. An unknown mode fails every test, instead of running them all in an unintended one.
    /// </summary>
    public static ShmSchedulingMode Mode { get; } =
        IsSchedulingChosen ? Enum.Parse<ShmSchedulingMode>(ChosenScheduling!) : ShmSchedulingMode.Adaptive;

    public static RigOptions AnySize { get; } = new() { ServerMaxReceive = null, ClientMaxReceive = null };

    public int? ServerMaxReceive { get; init; } = DefaultReceiveLimit;

    public int? ServerMaxSend { get; init; }

    public int? ClientMaxReceive { get; init; } = DefaultReceiveLimit;

    public int? ClientMaxSend { get; init; }

    public IReadOnlyList<Interceptor> ServerInterceptors { get; init; } = [];

    /// <summary>Shared memory only: the interceptors of the server's options.</summary>
    public IReadOnlyList<Interceptor> OptionInterceptors { get; init; } = [];

    /// <summary>Not on Grpc.Core: the compression of responses.</summary>
    public string? ResponseCompression { get; init; }

    /// <summary>Whether sockets use TLS, which call credentials require. Shared memory always permits them.</summary>
    public bool IsSecure { get; init; }

    /// <summary>The call credentials of the channel; null for none.</summary>
    public CallCredentials? ChannelCallCredentials { get; init; }

    /// <summary>The retry policy of the channel; null for none.</summary>
    public RigRetries? Retries { get; init; }

    /// <summary>Shared memory only: the capacity of both rings.</summary>
    public int RingCapacity { get; init; } = 1 << 20;

    /// <summary>Not on Grpc.Core.</summary>
    public int ServerMaxMetadata { get; init; } = 64 << 10;

    /// <summary>Not on Grpc.Core.</summary>
    public int ClientMaxMetadata { get; init; } = 64 << 10;

    /// <summary>Shared memory only: the mode of server and channel.</summary>
    public ShmSchedulingMode Scheduling { get; init; } = Mode;

    /// <summary>Not on Grpc.Core.</summary>
    public bool HasDetailedErrors { get; init; }

    /// <summary>Shared memory only: sets further options of the server; null for none.</summary>
    public Action<ShmServerOptions>? Server { get; init; }

    /// <summary>Shared memory only: adds further services to the server; null for none.</summary>
    public Action<ShmServiceCollection>? Services { get; init; }

    /// <summary>Not on Grpc.Core.</summary>
    public long? MaxRetryBufferPerCall { get; init; } = 1 << 20;

    /// <summary>Not on Grpc.Core.</summary>
    public bool ThrowsOperationCanceled { get; init; }

    /// <summary>Shared memory only.</summary>
    public ShmCodec? ClientCodec { get; init; }

    /// <summary>Shared memory only.</summary>
    public IReadOnlyList<ShmCodec> ServerCodecs { get; init; } = [];

    private static string? ChosenScheduling => Environment.GetEnvironmentVariable(SchedulingVariable);
}
