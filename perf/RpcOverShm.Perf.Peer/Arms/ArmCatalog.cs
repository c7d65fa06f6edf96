namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>All mechanisms that can be measured, in the order of the tables.</summary>
internal static class ArmCatalog
{
    private const int TwoMebibytes = 2 << 20;

    private static readonly ShmTransport s_shm = Usual.Shm;
    private static readonly ShmTransport s_shmOffering = new() { OffersCallbacks = true };
    private static readonly ShmTransport s_shmLending = new() { Lends = true };
    private static readonly GrpcDotnetTransport s_grpcDotnet = Usual.GrpcDotnet;
    private static readonly GeneratedCalls s_generated = Usual.Calls;

    public static IReadOnlyList<IArm> All { get; } =
    [
        new SpinningArm("cache-line", carriesMessages: false),
        new RawRingArm(),
        new RawStreamArm(),
        new CallsArm("shm-raw", s_shm, new MethodCalls<byte[]>("Raw", new RawForm(), hasStreams: true)),
        new CallsArm("shm-payload", s_shm, new MethodCalls<ShmPayload>("Payloads", new PooledForm(), hasStreams: true)),
        new CallsArm("shm-loan", s_shmLending, new LoanCalls()),
        new CallsArm("shm-loan-word", s_shmLending, new LoanCalls(isOneWord: true)),
        new CallsArm("shm-object", s_shm, new MethodCalls<ContractMessage>("Object", new ObjectForm())),
        Usual.Product,
        new CallsArm("shm-protobuf-2mib", s_shm, s_generated) { LargeObjectsFrom = TwoMebibytes },
        new CallsArm("shm-offering", s_shmOffering, s_generated),
        new CallsArm("shm-callback", s_shmOffering, new GeneratedCalls(callsBack: true)),
        new CallsArm("shm-watched", new ShmTransport { IsWatched = true }, s_generated),
        new CallsArm("shm-oneway", s_shm, new OneWayCalls()),
        new PipeArm(),
        new PipeArm(new ProtobufCodec()),
        new SocketArm(),
        new SocketArm(isTcp: true),
        new NerdbankArm(),
        new FifoArm(),
        new SpinningArm("mmap", carriesMessages: true),
        new SemaphoreArm(),
        new SignalArm(),
        .. KernelQueues(),
        new ZeroMqArm(),
        new MemoryCopyArm(),
        new MemoryEchoArm(),
        Usual.Rival,
        new CallsArm("grpc-dotnet-uds-2mib", s_grpcDotnet, s_generated) { LargeObjectsFrom = TwoMebibytes },
        new CallsArm("grpc-core-uds", new GrpcCoreTransport(), s_generated),
        new JsonRpcArm(),
        .. RecordFormat.All.Select(format =>
            new CallsArm($"shm-{format.Name}-record", new ShmTransport(format: format), new RecordCalls())),
        new CallsArm("grpc-dotnet-protobuf-record", s_grpcDotnet, new RecordCalls()),
        .. RecordFormat.All.Select(format => new PipeArm(new RecordCodec(format))),
        .. RecordFormat.All.Select(format => new SocketArm(codec: new RecordCodec(format))),
    ];

    // Those that the system has.
    private static IEnumerable<IArm> KernelQueues()
    {
        if (MessageQueue.LargestMessage > 0)
        {
            yield return new MessageQueueArm(
                "posix-mq", MessageQueue.LargestMessage, MessageQueue.Create, MessageQueue.Open);
        }

        if (SysvQueue.LargestMessage > 0)
        {
            yield return new MessageQueueArm("sysv-mq", SysvQueue.LargestMessage, SysvQueue.Create, SysvQueue.Open);
        }
    }

    /// <summary>
    /// The product in forms for one scenario alone: all user code on the pool, for Backlog; methods that block, for
    /// Neighbours; feeds, for Feed.
    /// </summary>
    private static IReadOnlyList<IArm> Special { get; } =
    [
        new CallsArm("shm-topic", s_shm, new FeedCalls(isTopic: true)),
        new CallsArm("shm-streams", s_shm, new FeedCalls(isTopic: false)),
        new CallsArm("grpc-dotnet-streams", s_grpcDotnet, new FeedCalls(isTopic: false)),
        new ZeroMqFeedArm(),
        new CallsArm("shm-protobuf-pool", new ShmTransport(isOnPool: true), s_generated),
        new CallsArm(
            "shm-raw-blocking", s_shm, new MethodCalls<byte[]>("Raw", new RawForm()) { BlockingMethods = 1000 }),
    ];

    /// <exception cref="ArgumentException">There is no such arm.</exception>
    public static IArm Find(string name)
    {
        if (Usual.Find(name) is { } usual)
        {
            return usual;
        }

        IArm[] arms = [.. All, .. Special];
        return arms.FirstOrDefault(arm => arm.Name == name) ?? throw new ArgumentException(
            $"There is no arm '{name}'. The arms are {string.Join(", ", arms.Select(arm => arm.Name))}.");
    }

    /// <summary>
    /// The arms whose processes are measured from their start on: to make all others takes longer than their calls.
    /// </summary>
    private static class Usual
    {
        public static ShmTransport Shm { get; } = new();

        public static GrpcDotnetTransport GrpcDotnet { get; } = new();

        public static GeneratedCalls Calls { get; } = new();

        public static CallsArm Product { get; } = new("shm-protobuf", Shm, Calls) { HasBatches = true };

        public static CallsArm Rival { get; } = new("grpc-dotnet-uds", GrpcDotnet, Calls);

        public static CallsArm? Find(string name) =>
            name == Product.Name ? Product : name == Rival.Name ? Rival : null;
    }
}
