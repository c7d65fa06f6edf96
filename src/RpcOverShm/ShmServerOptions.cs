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
    private int? _maxConnectionsPerProcess;
    private bool _isPerProcessSet;

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
    /// Gets or sets the size, in bytes, to which the ring that the server writes for each client can grow: a power of
    /// two from 64 KiB to 1 GiB.
    /// </summary>
    /// <remarks>
    /// Defaults to 1 MiB, which fits into the L2 cache of current processors. Each ring begins with 64 KiB. When that
    /// is full while the client reads, or when a message has more than 8 KiB, the ring grows to this size and stays so
    /// until the connection ends; the first 64 KiB are kept too. On Linux before 5.14 it has all its memory at once.
    /// </remarks>
    public int RingCapacity { get; set; } = ShmDefaults.RingCapacity;

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of the ring that a client may write: a power of two from 64 KiB to
    /// 1 GiB.
    /// </summary>
    /// <remarks>
    /// Defaults to 16 MiB. A client with a larger ring is refused, and the reason names this option. The peer's ring is
    /// its own memory, but each connection maps it here too.
    /// </remarks>
    public int MaxPeerRingCapacity { get; set; } = ShmDefaults.MaxPeerRingCapacity;

    /// <summary>
    /// Gets or sets the time limit for a client's handshake, after which the server refuses the client; above zero and
    /// below 24 days.
    /// </summary>
    /// <remarks>
    /// Defaults to 5 seconds. It shrinks to an eighth as the places of <see cref="MaxPendingHandshakes"/> fill.
    /// </remarks>
    public TimeSpan HandshakeTimeout { get; set; } = ShmDefaults.ConnectTimeout;

    /// <summary>
    /// Gets or sets the time without a call or callback after which a session ends; 1 second or more and below 24 days.
    /// <para>Null lets idle sessions last.</para>
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to null. WCF's ReceiveTimeout is 10 minutes by default. After 1 to 1.5 times this time in which the
    /// session had no running call, callback or method, the server asks the client to leave. The client closes its
    /// connection, and connects again with its next call. No call fails for that. The server closes nothing itself.
    /// </para>
    /// <para>A client that only waits for callbacks has to make a call now and then, or it cannot be called.</para>
    /// </remarks>
    public TimeSpan? IdleTimeout { get; set; }

    /// <summary>
    /// Gets or sets the maximum number of calls and callbacks in front of a call in its chain; 1 or more.
    /// </summary>
    /// <remarks>
    /// Defaults to 16. In a chain the method of each call makes the next one, before it ends. A call beyond the limit,
    /// which the method of a callback makes, fails with <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>. See
    /// <see cref="ShmCallbackOptions.MaxCallbackDepth"/>.
    /// </remarks>
    public int MaxCallbackDepth { get; set; } = ShmDefaults.MaxCallbackDepth;

    /// <summary>
    /// Gets or sets the maximum number of methods that run at a time for one connection; 1 to 65,536.
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to 10,000: a method that awaits keeps memory only. One that blocks keeps a thread of the pool, and
    /// methods of other clients wait for one; lower the limit if methods block. Excess calls wait in the order of their
    /// arrival; see <see cref="MaxQueuedCalls"/>. A call counts from the start of its method, when its request is
    /// complete, until the method has ended. A call that a method makes to its own server through a channel of the same
    /// process takes the place of the call whose method makes it, one at a time, if no other place is free.
    /// </para>
    /// <para>
    /// At most, a connection costs this number of running methods, each with a request of
    /// <see cref="MaxReceiveMessageSize"/> and metadata of <see cref="MaxMetadataSize"/>; the requests that wait count
    /// towards <see cref="MaxConnectionBufferSize"/>. All connections together cost that for each, unless
    /// <see cref="MaxConcurrentCalls"/> is set.
    /// </para>
    /// </remarks>
    public int MaxConcurrentCallsPerConnection { get; set; } = ShmDefaults.MaxConcurrentCallsPerConnection;

    /// <summary>
    /// Gets or sets the maximum number of methods that run at a time for all connections of the server; 1 or more.
    /// <para>Null sets no such limit: only the one of each connection applies.</para>
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to null. Excess calls wait, each in a place of <see cref="MaxConcurrentCallsPerConnection"/> and of
    /// <see cref="MaxQueuedCalls"/> of its connection. Connections take turns, so that many waiting calls of one client
    /// hold up no other; the calls of a connection begin in the order of their arrival.
    /// </para>
    /// <para>
    /// With this limit, each call takes a lock of the server three times, at its start and its end. At most, the
    /// running methods of all connections together keep this number of requests.
    /// </para>
    /// </remarks>
    public int? MaxConcurrentCalls { get; set; }

    /// <summary>
    /// Gets or sets the maximum number of calls of one connection that wait for their turn.
    /// <para>0 lets no call wait: it is refused if it cannot run at once.</para>
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to 10,000. Beyond it, a call fails with <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>. A waiting
    /// call has its deadline, and leaves its place when it is cancelled. A server that stops refuses waiting calls with
    /// <see cref="Grpc.Core.StatusCode.Unavailable"/>, so they can go to the next server.
    /// </para>
    /// <para>
    /// The server tells each client that it takes <see cref="MaxConcurrentCallsPerConnection"/> and this number of
    /// calls at a time, at most 65,536. At most, waiting calls cost <see cref="MaxConnectionBufferSize"/> for each
    /// connection.
    /// </para>
    /// </remarks>
    public int MaxQueuedCalls { get; set; } = ShmDefaults.MaxQueuedCalls;

    /// <summary>
    /// Gets or sets the maximum number of bytes that one connection can make the server keep: incomplete and unread
    /// requests, incomplete heads, waiting calls and answers that the client does not read; 1 or more, and at least
    /// <see cref="MaxReceiveMessageSize"/>. With twice that, and 1 KiB for the call, the largest message fits for sure.
    /// <para>
    /// Null means 128 MiB, or twice <see cref="MaxReceiveMessageSize"/> if that is more; no limit of its own if that is
    /// null.
    /// </para>
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to null. If a request would exceed it, its call fails with
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>; the connection goes on. What counts is the array of a
    /// request, up to twice its size, and its metadata. While answers of more than half of it wait for the client, no
    /// method begins: calls wait as if too many ran. A streaming method waits for its client in any case: see
    /// <see cref="Grpc.Core.IAsyncStreamWriter{T}.WriteAsync(T)"/>.
    /// </para>
    /// <para>
    /// Not counted are the two rings, and the requests and answers that methods hold: lower
    /// <see cref="MaxConcurrentCallsPerConnection"/> if they are large. While too many answers wait, a method that has
    /// ended keeps its answer, as an object, until others have gone. All connections together cost this for each, and
    /// at most <see cref="MaxBufferSize"/>. The free arrays that a process keeps for reuse after a burst are at most
    /// 64 MiB, and about 4 MiB for each processor.
    /// </para>
    /// </remarks>
    public long? MaxConnectionBufferSize { get; set; }

    /// <summary>
    /// Gets or sets the maximum number of bytes that all connections together can make the server keep; at least
    /// <see cref="MaxConnectionBufferSize"/>.
    /// <para>
    /// Null means a quarter of the memory that is available to the process; if that is less than
    /// <see cref="MaxConnectionBufferSize"/>, or than twice <see cref="MaxReceiveMessageSize"/> where that is null, it
    /// means those. If <see cref="MaxReceiveMessageSize"/> is null too, it counts as <see cref="int.MaxValue"/>.
    /// </para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. Counts what <see cref="MaxConnectionBufferSize"/> counts, with the same effects. While more
    /// than half of it is kept, calls wait on those connections that have answers of more than 1 MiB unread.
    /// </remarks>
    public long? MaxBufferSize { get; set; }

    /// <summary>
    /// Gets or sets the time in which the head of a request must come whole, if it is too large for one record; above
    /// zero and below 24 days.
    /// </summary>
    /// <remarks>
    /// Defaults to 30 seconds, as in Kestrel. If a head takes longer, its call fails with
    /// <see cref="Grpc.Core.StatusCode.DeadlineExceeded"/>. At most, an incomplete head costs
    /// <see cref="MaxMetadataSize"/> and 256 KiB, twice, which count towards <see cref="MaxConnectionBufferSize"/>.
    /// </remarks>
    public TimeSpan RequestHeadTimeout { get; set; } = ShmDefaults.RequestHeadTimeout;

    /// <summary>
    /// Gets or sets the maximum number of clients that are connected and whose handshake is not complete; 1 or more.
    /// </summary>
    /// <remarks>
    /// Defaults to 64: a handshake takes less than a millisecond, and each place keeps a descriptor and 4 KiB. If all
    /// places are taken, a newcomer takes the place of a client that has sent nothing for longer than it needs, first
    /// of the process with the most places. The time limit, <see cref="HandshakeTimeout"/>, shrinks to an eighth as the
    /// places fill. Further clients wait in the system's queue.
    /// </remarks>
    public int MaxPendingHandshakes { get; set; } = ShmDefaults.MaxPendingHandshakes;

    /// <summary>
    /// Gets or sets the maximum number of connections; 1 or more.
    /// <para>Null means only as many as the system allows.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to 1000. Each channel has one. It costs both rings and two descriptors, and each client process one
    /// more: with the defaults 64 KiB of the server's memory, or 1.1 MiB after large messages, 1.1 GiB in all, and up
    /// to 16 MiB of the client's, which both map. Further clients are refused, also when a quarter of
    /// <c>vm.max_map_count</c> is reached or too few descriptors are free (64, and one for each connection): their
    /// attempts fail with <see cref="ShmTransportError.Refused"/> and the name of the limit.
    /// </remarks>
    public int? MaxConnections { get; set; } = ShmDefaults.MaxConnections;

    /// <summary>
    /// Gets or sets the maximum number of connections of one user other than the server's own; 1 or more, and at most
    /// <see cref="MaxConnections"/>.
    /// <para>Null means half of all connections, rounded up, and of the descriptors that the process may have.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to null: a user who is let in cannot shut out the server's own. Root counts like any other. The kernel
    /// tells the user; all users that it cannot name, those of other user namespaces, count as one.
    /// </remarks>
    public int? MaxConnectionsPerUser { get; set; }

    /// <summary>
    /// Gets or sets the maximum number of connections of one client process; 1 or more, and at most
    /// <see cref="MaxConnections"/>.
    /// <para>Null means no limit of its own for a process.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to 500, or to <see cref="MaxConnections"/> if that is less: a process that connects without end leaves
    /// places to others. The kernel tells the process; all processes that it cannot name, those outside of the server's
    /// pid namespace, count as one.
    /// </remarks>
    public int? MaxConnectionsPerProcess
    {
        get => _isPerProcessSet ? _maxConnectionsPerProcess : Math.Min(
            ShmDefaults.MaxConnectionsPerProcess, MaxConnections ?? ShmDefaults.MaxConnectionsPerProcess);
        set
        {
            // The binding of a configuration sets each option to what it has read from it. That is no choice.
            if (_isPerProcessSet || value != MaxConnectionsPerProcess)
            {
                _maxConnectionsPerProcess = value;
                _isPerProcessSet = true;
            }
        }
    }

    /// <summary>
    /// Gets or sets the directory in which the server creates a name (<c>shm://name</c>).
    /// <para>
    /// An absolute path. Null means <c>$XDG_RUNTIME_DIR/rpcovershm</c>. If that variable is not set, or its directory
    /// does not exist, belongs to another user or is writable by all users, null means a directory of the user under
    /// the temporary files.
    /// </para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. The server creates the directory if it is missing. It refuses the directory if another user
    /// owns it or has access to it, unless <see cref="AllowedUsers"/> or <see cref="AllowedGroup"/> asks for that. It
    /// also refuses it if the directory above belongs to neither this user nor root, or is writable by all users and
    /// not sticky. Client and server must use the same directory.
    /// </remarks>
    public string? RuntimeDirectory { get; set; }

    /// <summary>
    /// Gets the users whose processes may connect, besides those of the server's user and of root. Each is a name or a
    /// number of this system.
    /// </summary>
    /// <remarks>
    /// <para>
    /// Empty by default. A number needs no entry in the user database; a text of digits is always a number. The kernel
    /// says who the client is (SO_PEERCRED); everybody else is refused before anything is read. Unknown names are
    /// refused when the options are read.
    /// </para>
    /// <para>
    /// The socket then has mode 0666. A name (<c>shm://name</c>) needs <see cref="RuntimeDirectory"/>: a directory of
    /// the server's user that nobody else may write to and that others may search (mode 0711); it is created if it is
    /// missing and its parent exists. The directory of a path (<c>shm:///path</c>) must belong to the server's user or
    /// root, and must not be writable by all users unless it is sticky. The clients name the server's user in their
    /// option TrustedServerUsers, unless it is root.
    /// </para>
    /// </remarks>
    public IList<string> AllowedUsers { get; } = [];

    /// <summary>
    /// Gets or sets the group whose members may connect, besides those who may anyway: a name or a number of this
    /// system.
    /// <para>Null means no group.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. A process is a member by its group or its supplementary groups at the time when it connects.
    /// The socket then belongs to this group and has mode 0660, and the directory has mode 0710 and this group; the
    /// server's user must be root or a member. The rest is as for <see cref="AllowedUsers"/>. If both options are set,
    /// a client needs one of them, and the permissions are those for users.
    /// </remarks>
    public string? AllowedGroup { get; set; }

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
    /// <see cref="ShmServiceCollection"/> or Grpc.Core's <c>Intercept</c> adds. Each interceptor serves all calls,
    /// so it must be thread-safe.
    /// </remarks>
    public IList<Interceptor> Interceptors { get; } = [];

    /// <summary>Gets the hooks that see the bytes of each message, in this order.</summary>
    /// <remarks>
    /// Empty by default. See <see cref="ShmMessageInspector"/>. They also see the callbacks that the server makes.
    /// </remarks>
    public IList<ShmMessageInspector> MessageInspectors { get; } = [];

    /// <summary>Gets the codecs that the server offers besides the generated marshallers.</summary>
    /// <remarks>
    /// Empty by default; the generated marshallers are always offered, but a <see cref="ShmMethod"/> has none. Each
    /// codec must have a different name.
    /// </remarks>
    public IList<ShmCodec> Codecs { get; } = [];

    /// <summary>Gets or sets the threads on which methods run.</summary>
    /// <remarks>Defaults to <see cref="ShmSchedulingMode.Adaptive"/>.</remarks>
    public ShmSchedulingMode Scheduling { get; set; }
}
