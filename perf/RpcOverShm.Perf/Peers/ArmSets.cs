namespace RpcOverShm.Perf.Peers;

/// <summary>The sets of arms that are measured together.</summary>
internal static class ArmSets
{
    /// <summary>
    /// Every arm that carries messages of a program; the floor and the ceiling of the machine are not among them.
    /// </summary>
    public static IReadOnlyList<string> Usual { get; } =
    [
        "raw-ring", "raw-stream", "shm-raw", "shm-protobuf",
        Fleet.Baseline, Fleet.BaselineAgain, "uds", "tcp",
        "grpc-dotnet-uds", "grpc-core-uds", "streamjsonrpc-uds",
    ];

    /// <summary>The usual arms, and payloads in pooled memory, which are for large messages.</summary>
    public static IReadOnlyList<string> UsualWithPayloads { get; } = ["shm-payload", .. Usual];

    /// <summary>
    /// The same, payloads that are lent, and gRPC whose arrays are no large objects up to 2 MiB.
    /// </summary>
    public static IReadOnlyList<string> UsualLarge { get; } =
        ["shm-loan", .. UsualWithPayloads, "shm-protobuf-2mib", "grpc-dotnet-uds-2mib"];

    /// <summary>
    /// Payloads that are lent, those that are copied, what copies bytes alone, and the memory of one process.
    /// </summary>
    public static IReadOnlyList<string> Loans { get; } =
    [
        "memory", "shm-loan", "shm-loan-word", "shm-payload", "raw-stream",
        Fleet.Baseline, Fleet.BaselineAgain, "grpc-dotnet-uds",
    ];

    /// <summary>The usual arms, the round trip of one word, which has no size, and a multiplexer of streams.</summary>
    public static IReadOnlyList<string> WithFloor { get; } = ["cache-line", .. Usual, "nerdbank-uds"];

    /// <summary>The arms of a stream.</summary>
    public static IReadOnlyList<string> Streams { get; } = [.. UsualWithPayloads, "nerdbank-uds"];

    /// <summary>The former implementation of gRPC, in cells where it shows what the others show already.</summary>
    private static IReadOnlyList<string> Former { get; } = PerfSettings.IsFull ? ["grpc-core-uds"] : [];

    /// <summary>Product, baseline and rivals, for scenarios about one connection each.</summary>
    public static IReadOnlyList<string> Calls { get; } =
        ["shm-raw", "shm-protobuf", Fleet.Baseline, Fleet.BaselineAgain, "uds", "grpc-dotnet-uds", "grpc-core-uds"];

    /// <summary>Product and baseline.</summary>
    public static IReadOnlyList<string> Few { get; } =
        ["raw-stream", "shm-raw", "shm-protobuf", Fleet.Baseline, Fleet.BaselineAgain];

    /// <summary>Every serialiser of one field of bytes, over the product and over the pipe.</summary>
    public static IReadOnlyList<string> Serialisers { get; } =
    [
        "shm-raw", "shm-payload", "shm-object", "shm-protobuf", Fleet.Baseline, Fleet.BaselineAgain, "pipe-protobuf",
        "grpc-dotnet-uds",
    ];

    /// <summary>
    /// Records in every serialiser, over the product, the pipe and the socket, and raw bytes beside them.
    /// </summary>
    public static IReadOnlyList<string> Records { get; } =
    [
        "shm-raw", "shm-protobuf-record", "shm-msgpack-record",
        Fleet.Baseline, Fleet.BaselineAgain, "pipe-protobuf-record", "pipe-msgpack-record",
        "uds", "uds-protobuf-record", "uds-msgpack-record", "grpc-dotnet-protobuf-record",
    ];

    /// <summary>Product and baseline, with messages of every form, and the rivals.</summary>
    public static IReadOnlyList<string> Forms { get; } =
        [.. Few, "shm-payload", "shm-loan", "shm-object", "pipe-protobuf", "grpc-dotnet-uds", .. Former];

    /// <summary>Mechanisms that not every system has.</summary>
    public static IReadOnlyList<string> KernelQueues { get; } = ["posix-mq", "sysv-mq"];

    /// <summary>Every mechanism of the system, and the product's layers.</summary>
    public static IReadOnlyList<string> Mechanisms { get; } =
    [
        "raw-ring", "raw-stream", "shm-raw", "shm-protobuf",
        Fleet.Baseline, "uds", "tcp", "fifo", "mmap", "mmap-event", "signal", "zeromq",
        .. KernelQueues.Where(name => ArmCatalog.All.Any(arm => arm.Name == name)),
    ];

    /// <summary>Every arm that streams, and the copy of memory, which no arm can beat.</summary>
    public static IReadOnlyList<string> Blocks { get; } =
        ["memcpy", .. UsualWithPayloads, "fifo"];

    /// <summary>The same for large messages.</summary>
    public static IReadOnlyList<string> LargeBlocks { get; } = [.. Blocks, "shm-protobuf-2mib"];

    /// <summary>Arms with one server and many client processes at once.</summary>
    public static IReadOnlyList<string> Crowd { get; } =
    [
        "raw-ring", "raw-stream", "shm-raw", "shm-payload", "shm-protobuf", Fleet.Baseline, Fleet.BaselineAgain,
        "grpc-dotnet-uds", .. Former,
    ];

    /// <summary>The same, and calls without an answer, for scenarios in which only the clients send.</summary>
    public static IReadOnlyList<string> Senders { get; } = [.. Crowd, "shm-oneway"];

    /// <summary>The same for large messages.</summary>
    public static IReadOnlyList<string> LargeSenders { get; } = [.. Senders, "shm-protobuf-2mib"];
}
