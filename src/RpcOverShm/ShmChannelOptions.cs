using Grpc.Core;
using Microsoft.Extensions.Logging;

namespace RpcOverShm;

/// <summary>The settings of a <see cref="ShmChannel"/>.</summary>
/// <remarks>
/// <para>
/// The channel reads the options when it is created; later changes have no effect. <see cref="ShmChannel.ForAddress"/>
/// throws <see cref="ArgumentException"/> if a value is not allowed.
/// </para>
/// <para>Not thread-safe. Nothing to dispose.</para>
/// </remarks>
public sealed class ShmChannelOptions
{
    /// <summary>
    /// Gets or sets the factory of the channel's logger.
    /// <para>Null disables logging.</para>
    /// </summary>
    /// <remarks>Defaults to null. The channel does not dispose the factory.</remarks>
    public ILoggerFactory? LoggerFactory { get; set; }

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of a received message.
    /// <para>
    /// Null removes the limit: a server can then make this process use any amount of memory. 0 allows only empty
    /// messages.
    /// </para>
    /// </summary>
    /// <remarks>
    /// Defaults to 4 MiB, as in gRPC. If a message is larger, its call fails with
    /// <see cref="StatusCode.ResourceExhausted"/>.
    /// </remarks>
    public int? MaxReceiveMessageSize { get; set; } = ShmDefaults.MaxReceiveMessageSize;

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of a sent message.
    /// <para>Null removes the limit. 0 allows only empty messages.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. If a message is larger, its call fails with <see cref="StatusCode.ResourceExhausted"/>.
    /// </remarks>
    public int? MaxSendMessageSize { get; set; }

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of one block of received metadata: response headers or trailers.
    /// <para>0 allows no metadata. The maximum is 16 MiB.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to 64 KiB. Each entry counts its key, its value and 32 bytes, as in gRPC. If a block is larger, its
    /// call fails with <see cref="StatusCode.ResourceExhausted"/>. But if a failure has details
    /// (<c>grpc-status-details-bin</c>) without which its trailers are not too large, only the details are left out,
    /// and the text of the status says so.
    /// </remarks>
    public int MaxMetadataSize { get; set; } = ShmDefaults.MaxMetadataSize;

    /// <summary>
    /// Gets or sets the size, in bytes, to which the ring that this side writes can grow: a power of two from 64 KiB to
    /// 1 GiB.
    /// </summary>
    /// <remarks>
    /// Defaults to 1 MiB, which fits into the L2 cache of current processors. The ring of a connection begins with
    /// 64 KiB. When that is full while the server reads, or when a message has more than 8 KiB, the ring grows to this
    /// size and stays so until the connection ends; the first 64 KiB are kept too. On Linux before 5.14 it has all its
    /// memory at once.
    /// </remarks>
    public int RingCapacity { get; set; } = ShmDefaults.RingCapacity;

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of the ring that the server may write: a power of two from 64 KiB to
    /// 1 GiB.
    /// </summary>
    /// <remarks>
    /// Defaults to 16 MiB. A server with a larger ring is refused, and the reason names this option. The peer's ring is
    /// its own memory, but each connection maps it here too.
    /// </remarks>
    public int MaxPeerRingCapacity { get; set; } = ShmDefaults.MaxPeerRingCapacity;

    /// <summary>Gets or sets the time limit for an attempt to connect; above zero and below 24 days.</summary>
    /// <remarks>
    /// Defaults to 5 seconds. After that, the calls that wait for the attempt fail with
    /// <see cref="StatusCode.Unavailable"/>. If no server is running, the attempt fails at once.
    /// </remarks>
    public TimeSpan ConnectTimeout { get; set; } = ShmDefaults.ConnectTimeout;

    /// <summary>Gets or sets the pause after the first failed attempt to connect; above zero, at most a day.</summary>
    /// <remarks>
    /// <para>
    /// Defaults to 10 milliseconds. Each further failure multiplies the pause by 1.6, up to
    /// <see cref="MaxReconnectBackoff"/>; a random jitter of 20 % is added or subtracted (gRPC's
    /// doc/connection-backoff.md, with times for one machine).
    /// </para>
    /// <para>
    /// A call that starts during a pause fails with the failure of the last attempt, unless it waits for ready. If the
    /// last attempt found no server, which takes no time to find out, the call starts the next attempt at once.
    /// </para>
    /// </remarks>
    public TimeSpan InitialReconnectBackoff { get; set; } = ShmDefaults.InitialReconnectBackoff;

    /// <summary>
    /// Gets or sets the maximum pause between two attempts to connect, before jitter; at least
    /// <see cref="InitialReconnectBackoff"/>, at most a day.
    /// </summary>
    /// <remarks>Defaults to 1 second.</remarks>
    public TimeSpan MaxReconnectBackoff { get; set; } = ShmDefaults.MaxReconnectBackoff;

    /// <summary>
    /// Gets or sets the time limit of calls that have no deadline; above zero.
    /// <para>Null means that such a call may last for any time.</para>
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to null, as in gRPC. WCF's SendTimeout is a minute by default. The time begins with the call and covers
    /// the wait for a connection, all attempts of a retried call, and the whole of a stream, however long it is
    /// watched. After it, the call fails with <see cref="StatusCode.DeadlineExceeded"/>. The server gets it as the
    /// call's deadline.
    /// </para>
    /// <para>
    /// A deadline of the call wins, earlier or later, also one that was propagated from a server's call.
    /// <see cref="DateTime.MaxValue"/> is no deadline, as in gRPC. The <see cref="ShmMethodConfig.Timeout"/> of the
    /// method wins too. For methods without an end in sight, such as watches, it is
    /// <see cref="Timeout.InfiniteTimeSpan"/>. Callbacks have no default.
    /// </para>
    /// </remarks>
    public TimeSpan? DefaultTimeout { get; set; }

    /// <summary>
    /// Gets or sets the time without a call after which the channel closes its connection; 1 second or more and below
    /// 24 days.
    /// <para>Null keeps it open. Must be null if the channel offers <see cref="CallbackServices"/>.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to null: an idle connection costs memory only. The connection closes after 1 to 1.5 times this time
    /// without a running call, and <see cref="ShmChannel.State"/> becomes <see cref="ConnectivityState.Idle"/>. No call
    /// fails for that: the next one connects again, which takes about a millisecond. The session ends, with its items;
    /// the next call begins another.
    /// </remarks>
    public TimeSpan? IdleTimeout { get; set; }

    /// <summary>
    /// Gets or sets the channel's credentials.
    /// <para>Null means <see cref="ChannelCredentials.Insecure"/>.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. Call credentials that are composed into the channel's credentials apply to every call, after
    /// the call's own. Credentials do not protect the transport: a connection's memory is passed to the peer alone, and
    /// the kernel names the peer's user and process. <see cref="ChannelCredentials.SecureSsl"/> is therefore accepted
    /// and has no effect.
    /// </remarks>
    public ChannelCredentials? Credentials { get; set; }

    /// <summary>
    /// Gets or sets the service config: which failures of which methods the channel retries, and how long calls may
    /// last.
    /// <para>Null disables retries by policy, and timeouts by method.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. Calls with one request that a stopping server refused before a method saw them are always sent
    /// to the next server (transparent retry, gRFC A6).
    /// </remarks>
    public ShmServiceConfig? ServiceConfig { get; set; }

    /// <summary>
    /// Gets or sets the maximum number of attempts of a call, including the first; 1 or more. A larger
    /// <see cref="ShmRetryPolicy.MaxAttempts"/> is lowered to it.
    /// <para>Null removes the limit.</para>
    /// </summary>
    /// <remarks>Defaults to 5.</remarks>
    public int? MaxRetryAttempts { get; set; } = ShmDefaults.MaxRetryAttempts;

    /// <summary>
    /// Gets or sets the maximum number of request bytes that the channel keeps for retries, over all calls. A request
    /// counts 208 bytes besides its own.
    /// <para>Null removes the limit. 0 keeps nothing.</para>
    /// </summary>
    /// <remarks>Defaults to 16 MiB. A call whose requests do not fit is not retried.</remarks>
    public long? MaxRetryBufferSize { get; set; } = ShmDefaults.MaxRetryBufferSize;

    /// <summary>
    /// Gets or sets the maximum number of request bytes that the channel keeps for retries of one call. A request
    /// counts 208 bytes besides its own.
    /// <para>Null removes the limit. 0 keeps nothing.</para>
    /// </summary>
    /// <remarks>Defaults to 1 MiB. A call whose requests do not fit is not retried.</remarks>
    public long? MaxRetryBufferPerCallSize { get; set; } = ShmDefaults.MaxRetryBufferPerCallSize;

    /// <summary>
    /// Gets or sets whether a cancelled, disposed or timed-out call throws <see cref="OperationCanceledException"/>
    /// instead of <see cref="RpcException"/>.
    /// </summary>
    /// <remarks>
    /// Defaults to false. The exception carries the token that was cancelled, and the <see cref="RpcException"/> as its
    /// inner exception. Applies only to calls that this side cancelled or disposed, or whose deadline has passed.
    /// </remarks>
    public bool ThrowOperationCanceledOnCancellation { get; set; }

    /// <summary>
    /// Gets or sets the directory in which the channel looks up a name (<c>shm://name</c>).
    /// <para>
    /// An absolute path. Null means <c>$XDG_RUNTIME_DIR/rpcovershm</c>. If that variable is not set, or its directory
    /// does not exist, belongs to another user or is writable by all users, null means a directory of the user under
    /// the temporary files.
    /// </para>
    /// </summary>
    /// <remarks>Defaults to null. Client and server must use the same directory.</remarks>
    public string? RuntimeDirectory { get; set; }

    /// <summary>
    /// Gets the users whose servers the channel trusts, besides those of its own user and of root. Each is a name or a
    /// number of this system.
    /// </summary>
    /// <remarks>
    /// Empty by default. A number needs no entry in the user database; a text of digits is always a number. The kernel
    /// says who the server is; a server of another user is left before anything is sent to it, and calls fail with
    /// <see cref="StatusCode.PermissionDenied"/>. Unknown names are refused when the options are read.
    /// </remarks>
    public IList<string> TrustedServerUsers { get; } = [];

    /// <summary>
    /// Gets or sets the codec of all messages.
    /// <para>Null means the marshallers that were generated with the service.</para>
    /// </summary>
    /// <remarks>Defaults to null.</remarks>
    public ShmCodec? Codec { get; set; }

    /// <summary>Gets the hooks that see the bytes of each message, in this order.</summary>
    /// <remarks>
    /// Empty by default. See <see cref="ShmMessageInspector"/>. They also see the callbacks that the client serves.
    /// </remarks>
    public IList<ShmMessageInspector> MessageInspectors { get; } = [];

    /// <summary>Gets the services that the channel's client offers to its server, for callbacks.</summary>
    /// <remarks>
    /// <para>
    /// Empty by default: the client takes no calls. A method of the server gets the client's session with
    /// <see cref="ShmServerCallContextExtensions.GetShmSession"/>, and calls the services with
    /// <see cref="ShmSession.CreateCallInvoker"/>. Interceptors work as on a server. The channel's
    /// <see cref="MaxReceiveMessageSize"/>, <see cref="MaxSendMessageSize"/>, <see cref="MaxMetadataSize"/> and
    /// <see cref="Scheduling"/> apply, and its <see cref="Codec"/> is offered beside the generated marshallers.
    /// </para>
    /// <para>
    /// The services are offered on each connection that the channel makes. The channel connects with its first call or
    /// <see cref="ShmChannel.ConnectAsync"/>; after a server has gone, it connects again with the next call. When the
    /// channel is shut down, the tokens of running callbacks are cancelled, and their server sees
    /// <see cref="StatusCode.Unavailable"/>.
    /// </para>
    /// <para>
    /// While a thread blocks in a generated synchronous call, it runs the methods of the callbacks that are made for
    /// this call, so locks that it holds are held by the same thread. A method continues elsewhere after it has awaited
    /// something else than its requests and responses. A method that waits for 20 ms while another one runs there goes
    /// to the thread pool. The call returns when its answer is there and a method that runs on its thread has returned;
    /// neither a deadline nor a token ends such a run. Other callbacks, also those for awaited calls and for calls with
    /// call credentials or a retry policy, run where methods of a server run.
    /// </para>
    /// <para>
    /// Services are added before a channel is created with the options; after that, adding one throws
    /// <see cref="InvalidOperationException"/>. Each call of a channel that offers services costs slightly more.
    /// </para>
    /// </remarks>
    public ShmServiceCollection CallbackServices { get; } = new();

    /// <summary>Gets the limits of callbacks.</summary>
    public ShmCallbackOptions Callbacks { get; } = new();

    /// <summary>Gets or sets the threads on which continuations of awaited calls run.</summary>
    /// <remarks>Defaults to <see cref="ShmSchedulingMode.Adaptive"/>.</remarks>
    public ShmSchedulingMode Scheduling { get; set; }
}
