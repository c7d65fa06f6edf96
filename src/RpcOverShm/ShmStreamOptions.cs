using Microsoft.Extensions.Logging;

namespace RpcOverShm;

/// <summary>The settings of a <see cref="ShmStream"/> or a <see cref="ShmStreamListener"/>.</summary>
/// <remarks>
/// <para>
/// The options are read when the stream is connected or the listener is created; later changes have no effect.
/// <see cref="ArgumentException"/> is thrown then if a value is not allowed.
/// </para>
/// <para>Not thread-safe. Nothing to dispose.</para>
/// </remarks>
public sealed class ShmStreamOptions
{
    private int? _maxConnectionsPerProcess;
    private bool _isPerProcessSet;

    /// <summary>
    /// Gets or sets the factory of the logger.
    /// <para>Null disables logging.</para>
    /// </summary>
    /// <remarks>Defaults to null. The stream or listener does not dispose the factory.</remarks>
    public ILoggerFactory? LoggerFactory { get; set; }

    /// <summary>
    /// Gets or sets the size, in bytes, to which the ring that this side writes can grow: a power of two from 64 KiB to
    /// 1 GiB.
    /// </summary>
    /// <remarks>
    /// Defaults to 1 MiB. The ring is the stream's buffer: a write waits while the peer has left this many bytes
    /// unread. It begins with 64 KiB and grows when that is full; the first 64 KiB are kept too. On Linux before 5.14
    /// it has all its memory at once.
    /// </remarks>
    public int RingCapacity { get; set; } = ShmDefaults.RingCapacity;

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of the ring that the peer may write: a power of two from 64 KiB to
    /// 1 GiB.
    /// </summary>
    /// <remarks>
    /// Defaults to 16 MiB. A peer with a larger ring is refused, and the reason names this option. The peer's ring is
    /// its own memory, but each connection maps it here too.
    /// </remarks>
    public int MaxPeerRingCapacity { get; set; } = ShmDefaults.MaxPeerRingCapacity;

    /// <summary>
    /// Gets or sets the time limit for connecting, or for a client's handshake; above zero and below 24 days.
    /// </summary>
    /// <remarks>Defaults to 5 seconds.</remarks>
    public TimeSpan ConnectTimeout { get; set; } = ShmDefaults.ConnectTimeout;

    /// <summary>
    /// Gets or sets the maximum number of clients that are connected and whose handshake is not complete; 1 or more.
    /// </summary>
    /// <remarks>
    /// Defaults to 64: a handshake takes less than a millisecond, and each place keeps a descriptor and 4 KiB. For a
    /// <see cref="ShmStreamListener"/>; without effect on a client. If all places are taken, a newcomer takes the place
    /// of a client that has sent nothing for longer than it needs, first of the process with the most places. The time
    /// limit, <see cref="ConnectTimeout"/>, shrinks to an eighth as the places fill. Further clients wait in the
    /// system's queue.
    /// </remarks>
    public int MaxPendingHandshakes { get; set; } = ShmDefaults.MaxPendingHandshakes;

    /// <summary>
    /// Gets or sets the maximum number of connections; 1 or more.
    /// <para>Null means only as many as the system allows.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to 1000. Accepted streams and those that wait to be accepted count. Each connection costs both rings
    /// and two descriptors, and each client process one more: with the defaults 64 KiB of the listener's memory, or
    /// 1.1 MiB after its ring was full, 1.1 GiB in all, and up to 16 MiB of the client's, which both map. For a
    /// <see cref="ShmStreamListener"/>; without effect on a client. The listener refuses further clients, as it also
    /// does when a quarter of <c>vm.max_map_count</c> is reached or too few descriptors are free (64, and one for each
    /// connection): their attempts fail with <see cref="ShmTransportError.Refused"/> and the name of the limit.
    /// </remarks>
    public int? MaxConnections { get; set; } = ShmDefaults.MaxConnections;

    /// <summary>
    /// Gets or sets the maximum number of connections of one user other than the listener's own; 1 or more, and at most
    /// <see cref="MaxConnections"/>.
    /// <para>Null means half of all connections, rounded up.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to null: a user who is let in cannot shut out the listener's own. For a
    /// <see cref="ShmStreamListener"/>; without effect on a client. Root counts like any other. The kernel tells the
    /// user; all users that it cannot name, those of other user namespaces, count as one.
    /// </remarks>
    public int? MaxConnectionsPerUser { get; set; }

    /// <summary>
    /// Gets or sets the maximum number of connections of one client process; 1 or more, and at most
    /// <see cref="MaxConnections"/>.
    /// <para>Null means no limit of its own for a process.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to 500, or to <see cref="MaxConnections"/> if that is less: a process that connects without end leaves
    /// places to others. For a <see cref="ShmStreamListener"/>; without effect on a client. The kernel tells the
    /// process; all processes that it cannot name, those outside of the listener's pid namespace, count as one.
    /// </remarks>
    public int? MaxConnectionsPerProcess
    {
        get => _isPerProcessSet ? _maxConnectionsPerProcess : Math.Min(
            ShmDefaults.MaxConnectionsPerProcess, MaxConnections ?? ShmDefaults.MaxConnectionsPerProcess);
        set
        {
            _maxConnectionsPerProcess = value;
            _isPerProcessSet = true;
        }
    }

    /// <summary>
    /// Gets or sets the maximum number of connected clients that wait until the listener accepts them; 1 or more.
    /// </summary>
    /// <remarks>
    /// Defaults to 128. For a <see cref="ShmStreamListener"/>; without effect on a client. When that many wait and
    /// another client connects, those that have left meanwhile are dropped with what they wrote. If all are still
    /// there, the new client is disconnected: its reads and writes throw <see cref="IOException"/>, and that of a read
    /// names this option. So it is with half of them, rounded up, for each user but the listener's own. Each one that
    /// waits costs what a connection costs.
    /// </remarks>
    public int MaxWaitingStreams { get; set; } = ShmDefaults.MaxWaitingStreams;

    /// <summary>
    /// Gets or sets the directory in which a name (<c>shm://name</c>) is looked up or created.
    /// <para>
    /// An absolute path. Null means <c>$XDG_RUNTIME_DIR/rpcovershm</c>. If that variable is not set, or its directory
    /// does not exist, belongs to another user or is writable by all users, null means a directory of the user under
    /// the temporary files.
    /// </para>
    /// </summary>
    /// <remarks>Defaults to null. Client and listener must use the same directory.</remarks>
    public string? RuntimeDirectory { get; set; }

    /// <summary>
    /// Gets the users whose processes may connect, besides those of the listener's user and of root. Each is a name or
    /// a number of this system.
    /// </summary>
    /// <remarks>
    /// <para>
    /// Empty by default; only a listener uses it. A number needs no entry in the user database; a text of digits is
    /// always a number. The kernel says who the client is (SO_PEERCRED); everybody else is refused before anything is
    /// read. Unknown names are refused when the options are read.
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
    /// Defaults to null; only a listener uses it. A process is a member by its group or its supplementary groups at the
    /// time when it connects. The socket then belongs to this group and has mode 0660, unless
    /// <see cref="AllowedUsers"/> asks for more; the server's user must be root or a member. The rest is as for
    /// <see cref="AllowedUsers"/>, with mode 0710 and this group for the directory.
    /// </remarks>
    public string? AllowedGroup { get; set; }

    /// <summary>
    /// Gets the users whose servers a connecting stream trusts, besides those of its own user and of root. Each is a
    /// name or a number of this system.
    /// </summary>
    /// <remarks>
    /// Empty by default; a listener does not use it. A number needs no entry in the user database; a text of digits is
    /// always a number. The kernel says who the server is; a server of another user is left before anything is sent to
    /// it, and connecting fails with <see cref="ShmTransportError.AccessDenied"/>. Unknown names are refused when the
    /// options are read.
    /// </remarks>
    public IList<string> TrustedServerUsers { get; } = [];
}
