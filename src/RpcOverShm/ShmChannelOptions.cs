using Microsoft.Extensions.Logging;

namespace RpcOverShm;

/// <summary>
/// Settings of a <see cref="ShmChannel"/>. Read when the channel is made; later changes have no effect. Values that are
/// not allowed are refused then, with an <see cref="ArgumentException"/>.
/// </summary>
public sealed class ShmChannelOptions
{
    /// <summary>Where the channel logs. Default null: nowhere.</summary>
    public ILoggerFactory? LoggerFactory { get; set; }

    /// <summary>
    /// The largest message, in bytes, that the channel receives; a larger one ends its call
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>. Default 4 MiB, as in gRPC. Null is any size: then a server
    /// can make this process use as much memory as it likes. 0 allows empty messages only.
    /// </summary>
    public int? MaxReceiveMessageSize { get; set; } = ShmDefaults.MaxReceiveMessageSize;

    /// <summary>
    /// The largest message, in bytes, that the channel sends; a larger one ends its call
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>. Default null: any size.
    /// </summary>
    public int? MaxSendMessageSize { get; set; }

    /// <summary>
    /// The most response metadata, in bytes, that the channel takes in one block, headers or trailers; more ends the
    /// call <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>. Counted as gRPC does: key, value and 32 bytes for
    /// each entry. Default 64 KiB; 0 takes none; at most 16 MiB.
    /// </summary>
    public int MaxMetadataSize { get; set; } = ShmDefaults.MaxMetadataSize;

    /// <summary>
    /// The size, in bytes, of the ring that this side writes: a power of two from 64 KiB to 1 GiB.
    /// Default 1 MiB, which fits into the L2 cache of current processors; larger rings cost memory, and more time to
    /// connect, for each connection.
    /// </summary>
    public int RingCapacity { get; set; } = ShmDefaults.RingCapacity;

    /// <summary>
    /// How long connecting may take before calls that wait for it end <see cref="Grpc.Core.StatusCode.Unavailable"/>. A
    /// server that is not there is noticed at once. Default 5 s; above zero.
    /// </summary>
    public TimeSpan ConnectTimeout { get; set; } = ShmDefaults.ConnectTimeout;

    /// <summary>
    /// The directory in which a name (<c>shm://name</c>) is looked up. Default null:
    /// <c>$XDG_RUNTIME_DIR/rpcovershm</c>, else a directory of the user's own under the temporary files. Both sides
    /// must mean the same directory.
    /// </summary>
    public string? RuntimeDirectory { get; set; }

    /// <summary>
    /// The serialiser of all messages. Default null: the marshallers that were generated with the service.
    /// </summary>
    public ShmCodec? Codec { get; set; }

    /// <summary>
    /// Whether the single response of a call of up to 16 KiB is parsed where the server wrote it, in memory that both
    /// processes map, instead of being copied out first. Default false. Only for a server that is trusted as this
    /// process itself is: it can change the bytes while they are parsed, and a parser that looks twice at what it has
    /// checked once can be led astray. The marshaller then runs on the thread that reads the connection, for as long as
    /// the server's memory is held: it must neither block nor make calls, and what it keeps must be its own copy.
    /// Streams and larger messages are not affected.
    /// </summary>
    public bool ParsesInPlace { get; set; }

    /// <summary>Where the continuations of awaited calls run. Default <see cref="ShmScheduling.Adaptive"/>.</summary>
    public ShmScheduling Scheduling { get; set; }
}
