using System.IO.Compression;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.Logging;

namespace RpcOverShm;

/// <summary>
/// Settings of a <see cref="ShmServer"/>. Read when the server is made; later changes have no effect. Values that are
/// not allowed are refused then, with an <see cref="ArgumentException"/>.
/// </summary>
public sealed class ShmServerOptions
{
    /// <summary>Where the server logs. Default null: nowhere.</summary>
    public ILoggerFactory? LoggerFactory { get; set; }

    /// <summary>
    /// The largest message, in bytes, that the server receives; a larger one ends its call
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>. Default 4 MiB, as in gRPC. Null is any size: then a client
    /// can make this process use as much memory as it likes. 0 allows empty messages only.
    /// </summary>
    public int? MaxReceiveMessageSize { get; set; } = ShmDefaults.MaxReceiveMessageSize;

    /// <summary>
    /// The largest message, in bytes, that the server sends; a larger one ends its call
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>. Default null: any size.
    /// </summary>
    public int? MaxSendMessageSize { get; set; }

    /// <summary>
    /// The most request metadata, in bytes, that the server takes for a call; more ends the call
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>. Counted as gRPC does: key, value and 32 bytes for each
    /// entry, without the one that a retry adds. Default 64 KiB; 0 takes none; at most 16 MiB.
    /// </summary>
    public int MaxMetadataSize { get; set; } = ShmDefaults.MaxMetadataSize;

    /// <summary>
    /// The size, in bytes, of the ring that the server writes for each client: a power of two from 64 KiB to
    /// 1 GiB. Default 1 MiB, which fits into the L2 cache of current processors; larger rings cost memory,
    /// and more time to connect.
    /// </summary>
    public int RingCapacity { get; set; } = ShmDefaults.RingCapacity;

    /// <summary>How long a client may take for the handshake before it is refused. Default 5 s; above zero.</summary>
    public TimeSpan HandshakeTimeout { get; set; } = ShmDefaults.ConnectTimeout;

    /// <summary>
    /// The directory in which a name (<c>shm://name</c>) is made. Default null: <c>$XDG_RUNTIME_DIR/rpcovershm</c>,
    /// else a directory of the user's own under the temporary files. Made if it is missing; refused if
    /// others have access to it.
    /// </summary>
    public string? RuntimeDirectory { get; set; }

    /// <summary>
    /// Whether a client is told type and message of an exception that a method threw, in the status detail. Default
    /// false: exceptions can tell what is nobody's business.
    /// </summary>
    public bool EnableDetailedErrors { get; set; }

    /// <summary>
    /// How responses are compressed unless their call says otherwise: <c>gzip</c>, or null, the default, for not at
    /// all; <c>identity</c> is the same as null. Over shared memory compression costs more time than it saves. A call's
    /// own wish is the header <c>grpc-internal-encoding-request</c> of its response; a message's is
    /// <see cref="Grpc.Core.WriteFlags.NoCompress"/>.
    /// </summary>
    public string? ResponseCompressionAlgorithm { get; set; }

    /// <summary>
    /// How thoroughly responses are compressed, where they are. Default null, which is
    /// <see cref="CompressionLevel.Fastest"/>.
    /// </summary>
    public CompressionLevel? ResponseCompressionLevel { get; set; }

    /// <summary>
    /// What sees each call before its method and after it. Default: none. The first one is the outermost, as in
    /// ASP.NET. All of them are further out than those that a service was given itself,
    /// by <see cref="ShmServiceCollection.Add"/> or by Grpc.Core's <c>Intercept</c>. One object serves all calls, so it
    /// must be thread-safe.
    /// </summary>
    public IList<Interceptor> Interceptors { get; } = [];

    /// <summary>
    /// Serialisers that clients may ask for, besides the marshallers that were generated with the services, which are
    /// always offered. Default: none. No two may have one name.
    /// </summary>
    public IList<ShmCodec> Codecs { get; } = [];

    /// <summary>
    /// Whether the single request of a call of up to 16 KiB is parsed where the client wrote it, in memory that both
    /// processes map, instead of being copied out first. Default false. Only for a client that is trusted as this
    /// process itself is: it can change the bytes while they are parsed, and a parser that looks twice at what it has
    /// checked once can be led astray. The marshaller then runs on the thread that reads the connection, for as long as
    /// the client's memory is held: it must neither block nor make calls, and what it keeps must be its own copy.
    /// Streams and larger messages are not affected.
    /// </summary>
    public bool AllowInPlaceParsing { get; set; }

    /// <summary>Where methods run. Default <see cref="ShmSchedulingMode.Adaptive"/>.</summary>
    public ShmSchedulingMode Scheduling { get; set; }
}
