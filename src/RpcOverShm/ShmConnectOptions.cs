using Microsoft.Extensions.Logging;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm;

/// <summary>
/// The way of a <see cref="ShmChannel"/> or a <see cref="ShmStream"/> to its server: a group of options.
/// </summary>
/// <remarks>Read with the options that it is in. Not thread-safe. Nothing to dispose.</remarks>
public sealed class ShmConnectOptions
{
    private const string Path = nameof(ShmChannelOptions.Connect) + ".";

    /// <summary>
    /// Gets or sets the directory in which a name (<c>shm://name</c>) is looked up.
    /// <para>
    /// An absolute path. Null means <c>$XDG_RUNTIME_DIR/rpcovershm</c>. If that variable is not set, or its directory
    /// does not exist, belongs to another user or is writable by all users, null means a directory of the user under
    /// the temporary files.
    /// </para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. The server must use the same directory: <see cref="ShmListenOptions.RuntimeDirectory"/>.
    /// </remarks>
    public string? RuntimeDirectory { get; set; }

    /// <summary>
    /// Gets the users whose servers are trusted, besides those of this process's own user and of root. Each is a name
    /// or a number of this system.
    /// </summary>
    /// <remarks>
    /// Empty by default. A number needs no entry in the user database; a text of digits is always a number. The kernel
    /// says who the server is; a server of another user is left before anything is sent to it. Calls then fail with
    /// <see cref="Grpc.Core.StatusCode.PermissionDenied"/>, and connecting a stream with
    /// <see cref="ShmTransportError.AccessDenied"/>. Unknown names are refused when the options are read.
    /// </remarks>
    public IList<string> TrustedServerUsers { get; } = [];

    /// <summary>Gets or sets the time limit for an attempt to connect; above zero and below 24 days.</summary>
    /// <remarks>
    /// Defaults to 5 seconds. After that, the calls that wait for the attempt fail with
    /// <see cref="Grpc.Core.StatusCode.Unavailable"/>. If no server is running, the attempt fails at once.
    /// </remarks>
    public TimeSpan Timeout { get; set; } = ShmDefaults.ConnectTimeout;

    /// <exception cref="ArgumentException">The address or the directory is not allowed.</exception>
    internal RendezvousAddress Parse(string address) =>
        RendezvousAddress.Parse(address, RuntimeDirectory, Path + nameof(RuntimeDirectory));

    /// <summary>Returns the checked settings of connections to a server.</summary>
    /// <exception cref="ArgumentException">The time is not allowed, or a name is unknown.</exception>
    internal ConnectionSettings ToConnectionSettings(
        ConnectionPurpose purpose, ShmRingOptions ring, PeerLimits limits, ILogger logger)
    {
        OptionRanges.Timer(Timeout, Path + nameof(Timeout));
        return new ConnectionSettings
        {
            Purpose = purpose,
            Limits = limits,
            ConnectTimeout = Timeout,
            Access = new(OptionAccounts.Users(TrustedServerUsers, Path + nameof(TrustedServerUsers)), Group: null),
            MaxPeerRingCapacity = ring.MaxPeerCapacity,
            Logger = logger,
        };
    }
}
