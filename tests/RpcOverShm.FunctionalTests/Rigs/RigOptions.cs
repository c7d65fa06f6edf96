using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>What a test wants of its rig. The defaults are those of gRPC.</summary>
internal sealed record RigOptions
{
    private const int DefaultReceiveLimit = 4 << 20;
    private const string SchedulingVariable = "RPCOVERSHM_TEST_SCHEDULING";

    /// <summary>Whether the environment says which scheduling mode shared memory has.</summary>
    public static bool IsSchedulingChosen => ChosenScheduling is { Length: > 0 };

    public static RigOptions AnySize { get; } = new() { ServerMaxReceive = null, ClientMaxReceive = null };

    public int? ServerMaxReceive { get; init; } = DefaultReceiveLimit;

    public int? ServerMaxSend { get; init; }

    public int? ClientMaxReceive { get; init; } = DefaultReceiveLimit;

    public int? ClientMaxSend { get; init; }

    public IReadOnlyList<Interceptor> ServerInterceptors { get; init; } = [];

    /// <summary>Shared memory only: those of the server's options.</summary>
    public IReadOnlyList<Interceptor> OptionInterceptors { get; init; } = [];

    /// <summary>Not of Grpc.Core: how responses are compressed.</summary>
    public string? ResponseCompression { get; init; }

    /// <summary>
    /// Whether a socket is protected: gRPC gives call credentials to no other. Shared memory always is.
    /// </summary>
    public bool IsSecure { get; init; }

    /// <summary>Composed into the channel's credentials; null for none.</summary>
    public CallCredentials? ChannelCallCredentials { get; init; }

    /// <summary>What the channel tries again; null for nothing.</summary>
    public RigRetries? Retries { get; init; }

    /// <summary>Shared memory only: the capacity of both rings.</summary>
    public int RingCapacity { get; init; } = 1 << 20;

    /// <summary>Not of Grpc.Core.</summary>
    public int ServerMaxMetadata { get; init; } = 64 << 10;

    /// <summary>Not of Grpc.Core.</summary>
    public int ClientMaxMetadata { get; init; } = 64 << 10;

    /// <summary>
    /// Shared memory only: of server and channel. The default is the product's, or what the environment says, so that
    /// all tests can be run in each mode.
    /// </summary>
    public ShmSchedulingMode Scheduling { get; init; } = DefaultScheduling();

    /// <summary>Not of Grpc.Core.</summary>
    public bool HasDetailedErrors { get; init; }

    /// <summary>Shared memory only: of server and channel.</summary>
    public bool AllowInPlaceParsing { get; init; }

    /// <summary>Not of Grpc.Core.</summary>
    public long? MaxRetryBufferPerCall { get; init; } = 1 << 20;

    /// <summary>Not of Grpc.Core.</summary>
    public bool ThrowsOperationCanceled { get; init; }

    /// <summary>Shared memory only.</summary>
    public ShmCodec? ClientCodec { get; init; }

    /// <summary>Shared memory only.</summary>
    public IReadOnlyList<ShmCodec> ServerCodecs { get; init; } = [];

    // A word that is no mode fails every test, in place of running them all in another one than was meant.
    private static ShmSchedulingMode DefaultScheduling() =>
        IsSchedulingChosen ? Enum.Parse<ShmSchedulingMode>(ChosenScheduling!) : ShmSchedulingMode.Adaptive;

    private static string? ChosenScheduling => Environment.GetEnvironmentVariable(SchedulingVariable);
}
