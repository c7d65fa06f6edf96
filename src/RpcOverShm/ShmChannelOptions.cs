using Grpc.Core;
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
    /// <see cref="StatusCode.ResourceExhausted"/>. Default 4 MiB, as in gRPC. Null is any size: then a server
    /// can make this process use as much memory as it likes. 0 allows empty messages only.
    /// </summary>
    public int? MaxReceiveMessageSize { get; set; } = ShmDefaults.MaxReceiveMessageSize;

    /// <summary>
    /// The largest message, in bytes, that the channel sends; a larger one ends its call
    /// <see cref="StatusCode.ResourceExhausted"/>. Default null: any size.
    /// </summary>
    public int? MaxSendMessageSize { get; set; }

    /// <summary>
    /// The most response metadata, in bytes, that the channel takes in one block, headers or trailers; more ends the
    /// call <see cref="StatusCode.ResourceExhausted"/>. Counted as gRPC does: key, value and 32 bytes for
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
    /// How long connecting may take before calls that wait for it end <see cref="StatusCode.Unavailable"/>. A
    /// server that is not there is noticed at once. Default 5 s; above zero.
    /// </summary>
    public TimeSpan ConnectTimeout { get; set; } = ShmDefaults.ConnectTimeout;

    /// <summary>
    /// How long the channel waits after a failed attempt to connect before it tries again. Each further failure makes
    /// it 1.6 times as long, up to <see cref="MaxReconnectBackoff"/>; a fifth more or less is left to chance. Default
    /// 10 ms; above zero. A call that comes in a pause fails with the last attempt's failure, unless it waits for
    /// ready; where nobody listened, which takes no time to find out, it makes the next attempt at once.
    /// </summary>
    public TimeSpan InitialReconnectBackoff { get; set; } = ShmDefaults.InitialReconnectBackoff;

    /// <summary>
    /// The longest that the channel waits between attempts to connect, before chance. Default 1 s; not below
    /// <see cref="InitialReconnectBackoff"/>.
    /// </summary>
    public TimeSpan MaxReconnectBackoff { get; set; } = ShmDefaults.MaxReconnectBackoff;

    /// <summary>
    /// The channel's credentials. Default null, which is <see cref="ChannelCredentials.Insecure"/>. Call credentials
    /// that are composed into them are applied to every call, after the call's own. What protects the transport is not
    /// a matter of credentials here: only the server's user and root can open the memory, and the kernel says who the
    /// peer is; so <see cref="ChannelCredentials.SecureSsl"/> is accepted and changes nothing.
    /// </summary>
    public ChannelCredentials? Credentials { get; set; }

    /// <summary>
    /// How methods are treated: which of their failures are tried again. Default null: none is. Calls that a leaving
    /// server has refused before a method saw them go to the next server in any case.
    /// </summary>
    public ShmServiceConfig? ServiceConfig { get; set; }

    /// <summary>
    /// The most attempts at a call, with the first one, whatever the service config says. Default 5; 1 or more; null
    /// for any number.
    /// </summary>
    public int? MaxRetryAttempts { get; set; } = ShmDefaults.MaxRetryAttempts;

    /// <summary>
    /// How many bytes of requests the channel keeps for further attempts, of all calls. A call for which there is no
    /// room has no further attempts. Default 16 MiB; 0 for none; null for any.
    /// </summary>
    public long? MaxRetryBufferSize { get; set; } = ShmDefaults.MaxRetryBufferSize;

    /// <summary>
    /// How many bytes of requests the channel keeps for further attempts of one call. Default 1 MiB; 0 for none; null
    /// for any.
    /// </summary>
    public long? MaxRetryBufferPerCallSize { get; set; } = ShmDefaults.MaxRetryBufferPerCallSize;

    /// <summary>
    /// Whether a call that was cancelled or disposed on this side, or whose deadline has passed, throws
    /// <see cref="OperationCanceledException"/>, with the token that was cancelled, in place of
    /// <see cref="RpcException"/>, which is then its inner exception. Default false.
    /// </summary>
    public bool ThrowOperationCanceledOnCancellation { get; set; }

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
    public bool AllowInPlaceParsing { get; set; }

    /// <summary>
    /// Where the continuations of awaited calls run. Default <see cref="ShmSchedulingMode.Adaptive"/>.
    /// </summary>
    public ShmSchedulingMode Scheduling { get; set; }
}
