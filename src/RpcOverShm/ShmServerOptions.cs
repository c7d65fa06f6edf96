using System.IO.Compression;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.Logging;

namespace RpcOverShm;

/// <summary>The settings of a <see cref="ShmServer"/>.</summary>
/// <remarks>
/// <para>
/// The server reads the options when it is created; later changes have no effect. The constructor of
/// <see cref="ShmServer"/> throws <see cref="ArgumentException"/> if a value is not allowed.
/// </para>
/// <para>Not thread-safe. Nothing to dispose.</para>
/// </remarks>
public sealed class ShmServerOptions
{
    /// <summary>
    /// Gets or sets the factory of the server's logger.
    /// <para>Null disables logging.</para>
    /// </summary>
    /// <remarks>Defaults to null. The server does not dispose the factory.</remarks>
    public ILoggerFactory? LoggerFactory { get; set; }

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of a received message.
    /// <para>
    /// Null removes the limit: a client can then make this process use any amount of memory. 0 allows only empty
    /// messages.
    /// </para>
    /// </summary>
    /// <remarks>
    /// Defaults to 4 MiB, as in gRPC. If a message is larger, its call fails with
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>.
    /// </remarks>
    public int? MaxReceiveMessageSize { get; set; } = ShmDefaults.MaxReceiveMessageSize;

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of a sent message.
    /// <para>Null removes the limit. 0 allows only empty messages.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. If a message is larger, its call fails with
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>.
    /// </remarks>
    public int? MaxSendMessageSize { get; set; }

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of the request metadata of a call.
    /// <para>0 allows no metadata. The maximum is 16 MiB.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to 64 KiB. Each entry counts its key, its value and 32 bytes, as in gRPC; the entry
    /// <c>grpc-previous-rpc-attempts</c> of a retry is not counted. If the metadata is larger, the call fails with
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>.
    /// </remarks>
    public int MaxMetadataSize { get; set; } = ShmDefaults.MaxMetadataSize;

    /// <summary>
    /// Gets or sets the size, in bytes, of the ring that the server writes for each client: a power of two from 64 KiB
    /// to 1 GiB.
    /// </summary>
    /// <remarks>
    /// Defaults to 1 MiB, which fits into the L2 cache of current processors. A larger ring costs memory, and more time
    /// to connect.
    /// </remarks>
    public int RingCapacity { get; set; } = ShmDefaults.RingCapacity;

    /// <summary>
    /// Gets or sets the time limit for a client's handshake, after which the server refuses the client; above zero and
    /// below 24 days.
    /// </summary>
    /// <remarks>Defaults to 5 seconds.</remarks>
    public TimeSpan HandshakeTimeout { get; set; } = ShmDefaults.ConnectTimeout;

    /// <summary>
    /// Gets or sets the directory in which the server creates a name (<c>shm://name</c>).
    /// <para>
    /// Null means <c>$XDG_RUNTIME_DIR/rpcovershm</c>, or, without that variable, a directory of the user under the
    /// temporary files.
    /// </para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. The server creates the directory if it is missing, and refuses it if other users have access
    /// to it. Client and server must use the same directory.
    /// </remarks>
    public string? RuntimeDirectory { get; set; }

    /// <summary>
    /// Gets or sets whether the status detail of a failed call contains the type and message of the exception that the
    /// method threw.
    /// </summary>
    /// <remarks>Defaults to false, because exceptions may contain confidential data.</remarks>
    public bool EnableDetailedErrors { get; set; }

    /// <summary>
    /// Gets or sets the compression of responses, unless the method requests another: <c>gzip</c> or <c>identity</c>.
    /// <para>Null means the same as <c>identity</c>: no compression.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to null: over shared memory, compression costs more time than it saves. A method requests
    /// another with the response header <c>grpc-internal-encoding-request</c>, and none for a single message with
    /// <see cref="Grpc.Core.WriteFlags.NoCompress"/>.
    /// </remarks>
    public string? ResponseCompressionAlgorithm { get; set; }

    /// <summary>
    /// Gets or sets the level at which responses are compressed.
    /// <para>Null means <see cref="CompressionLevel.Fastest"/>.</para>
    /// </summary>
    /// <remarks>Defaults to null. Without effect on responses that are not compressed.</remarks>
    public CompressionLevel? ResponseCompressionLevel { get; set; }

    /// <summary>Gets the interceptors of all calls; the first is the outermost, as in ASP.NET Core.</summary>
    /// <remarks>
    /// Empty by default. They run outside the interceptors of a single service, which
    /// <see cref="ShmServiceCollection.Add"/> or Grpc.Core's <c>Intercept</c> adds. Each interceptor serves all calls,
    /// so it must be thread-safe.
    /// </remarks>
    public IList<Interceptor> Interceptors { get; } = [];

    /// <summary>Gets the codecs that the server offers besides the generated marshallers.</summary>
    /// <remarks>
    /// Empty by default; the generated marshallers are always offered. Each codec must have a different name.
    /// </remarks>
    public IList<ShmCodec> Codecs { get; } = [];

    /// <summary>
    /// Gets or sets whether a small request is parsed in the shared memory to which the client wrote it, without a
    /// copy.
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to false. Enable it only for clients that are trusted like this process itself: a client can change the
    /// bytes during parsing (TOCTOU), which can mislead a parser that reads again what it has validated.
    /// </para>
    /// <para>
    /// The marshaller runs on the reading thread and keeps the client's memory occupied, so it must not block, must not
    /// make calls, and must copy what it keeps. Applies to the single request of a call, up to 16 KiB; streams and
    /// larger messages are always copied.
    /// </para>
    /// </remarks>
    public bool AllowInPlaceParsing { get; set; }

    /// <summary>Gets or sets the threads on which methods run.</summary>
    /// <remarks>Defaults to <see cref="ShmSchedulingMode.Adaptive"/>.</remarks>
    public ShmSchedulingMode Scheduling { get; set; }
}
