using Microsoft.Extensions.Logging;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm;

/// <summary>
/// The clients that a <see cref="ShmServer"/> or a <see cref="ShmStreamListener"/> lets in, and how many: a group of
/// options.
/// </summary>
/// <remarks>Read with the options that it is in. Not thread-safe. Nothing to dispose.</remarks>
public sealed class ShmListenOptions
{
    private const string Path = nameof(ShmServerOptions.Listen) + ".";

    /// <summary>
    /// Gets or sets the directory in which a name (<c>shm://name</c>) is created.
    /// <para>
    /// An absolute path. Null means <c>$XDG_RUNTIME_DIR/rpcovershm</c>. If that variable is not set, or its directory
    /// does not exist, belongs to another user or is writable by all users, null means a directory of the user under
    /// the temporary files.
    /// </para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. The directory is created if it is missing. It is refused if another user owns it or has access
    /// to it, unless <see cref="AllowedUsers"/> or <see cref="AllowedGroup"/> asks for that. It is also refused if the
    /// directory above belongs to neither this user nor root, or is writable by all users and not sticky. Clients must
    /// use the same directory: <see cref="ShmConnectOptions.RuntimeDirectory"/>.
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
    /// <see cref="ShmConnectOptions.TrustedServerUsers"/>, unless it is root.
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
    /// Gets or sets the time limit for a client's handshake, after which the client is refused; above zero and below
    /// 24 days.
    /// </summary>
    /// <remarks>
    /// Defaults to 5 seconds. It shrinks to an eighth as the places of <see cref="MaxPendingHandshakes"/> fill.
    /// </remarks>
    public TimeSpan HandshakeTimeout { get; set; } = ShmDefaults.ConnectTimeout;

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
    /// <para>
    /// Defaults to 1000. Each channel has one. Byte streams count when they are accepted and while they wait for that.
    /// Each connection costs both rings and two descriptors, and each client process one more: with the defaults 64 KiB
    /// of the server's memory, or 1.1 MiB after large messages, 1.1 GiB in all, and up to 16 MiB of the client's, which
    /// both map.
    /// </para>
    /// <para>
    /// Further clients are refused, also when a quarter of <c>vm.max_map_count</c> is reached or too few descriptors
    /// are free (64, and one for each connection): their attempts fail with <see cref="ShmTransportError.Refused"/> and
    /// the name of the limit.
    /// </para>
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
    /// <para>Null means half of all connections, rounded up.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to null: a process that connects without end leaves places to others. A process with all places, such
    /// as a gateway, needs the value of <see cref="MaxConnections"/>, or <see cref="int.MaxValue"/> if that is null.
    /// The kernel tells the process; all processes that it cannot name, those outside of the server's pid namespace,
    /// count as one.
    /// </remarks>
    public int? MaxConnectionsPerProcess { get; set; }

    /// <exception cref="ArgumentException">The address or the directory is not allowed.</exception>
    internal RendezvousAddress Parse(string address) =>
        RendezvousAddress.Parse(address, RuntimeDirectory, Path + nameof(RuntimeDirectory));

    /// <summary>Returns the checked settings of the connections to an address.</summary>
    /// <exception cref="ArgumentException">
    /// A limit is not allowed or contradicts another one, a name is unknown, or the address is in the user's own
    /// runtime directory, which cannot be shared.
    /// </exception>
    internal ConnectionSettings ToConnectionSettings(
        RendezvousAddress address, ConnectionPurpose purpose, ShmRingOptions ring, PeerLimits limits, ILogger logger)
    {
        OptionRanges.Timer(HandshakeTimeout, Path + nameof(HandshakeTimeout));
        return new ConnectionSettings
        {
            Purpose = purpose,
            Limits = limits,
            ConnectTimeout = HandshakeTimeout,
            Door = ToDoorLimits(),
            Access = ToAccess(address),
            MaxPeerRingCapacity = ring.MaxPeerCapacity,
            Logger = logger,
        };
    }

    private DoorLimits ToDoorLimits()
    {
        const string Most = Path + nameof(MaxConnections);
        const string MostPerUser = Path + nameof(MaxConnectionsPerUser);
        const string MostPerProcess = Path + nameof(MaxConnectionsPerProcess);
        OptionRanges.AtLeast(1, MaxPendingHandshakes, Path + nameof(MaxPendingHandshakes));
        OptionRanges.AtLeast(1, MaxConnections, Most, "what the system allows");
        OptionRanges.AtLeast(1, MaxConnectionsPerProcess, MostPerProcess, $"half of {Most}");
        OptionRanges.AtLeast(1, MaxConnectionsPerUser, MostPerUser, $"half of {Most}");
        OptionRanges.NotAbove(MaxConnections, Most, MaxConnectionsPerProcess, MostPerProcess);
        OptionRanges.NotAbove(MaxConnections, Most, MaxConnectionsPerUser, MostPerUser);
        return new DoorLimits(
            MaxPendingHandshakes, MaxConnections, MaxConnectionsPerProcess, MaxConnectionsPerUser);
    }

    private AccessPolicy ToAccess(RendezvousAddress address)
    {
        var policy = new AccessPolicy(
            OptionAccounts.Users(AllowedUsers, Path + nameof(AllowedUsers)),
            OptionAccounts.Group(AllowedGroup, Path + nameof(AllowedGroup)));
        return policy.IsShared && address.IsOfOwnUserOnly
            ? throw new ArgumentException(
                $"{Path}{nameof(AllowedUsers)} and {Path}{nameof(AllowedGroup)} need "
                + $"{Path}{nameof(RuntimeDirectory)}, or an address 'shm:///path': '{address}' stands for "
                + "a socket in the server user's own directory, which no other user can reach.")
            : policy;
    }
}
