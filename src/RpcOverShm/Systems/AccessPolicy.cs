namespace RpcOverShm.Systems;

/// <summary>
/// Decides which peers are let in: those of this process's user and of the all-powerful one, the named users, and the
/// members of one group. Immutable.
/// </summary>
/// <param name="Users">The further users.</param>
/// <param name="Group">The group; null for none.</param>
internal sealed record AccessPolicy(IReadOnlyList<Account> Users, Account? Group)
{
    /// <summary>The text that a refused client gets. It tells nothing about the server's process or users.</summary>
    public const string Refusal =
        "Access denied. The options AllowedUsers and AllowedGroup of the server say who may connect.";

    /// <summary>Only this process's user and the all-powerful one.</summary>
    public static AccessPolicy OwnUserOnly { get; } = new([], null);

    /// <summary>Whether it lets in other users.</summary>
    public bool IsShared => Users.Count > 0 || Group is not null;

    /// <summary>Returns whether the peer of a connected wire is let in. Only the system is asked.</summary>
    /// <exception cref="IOException">The system does not supply the peer's groups.</exception>
    public bool Admits(PeerIdentity peer, Wire wire) =>
        peer.IsTrusted
        || Users.Contains(peer.User)
        || (Group is { } group && (peer.Group == group || wire.IsMember(group)));

    /// <summary>Describes those who are let in, for logs and messages on this side.</summary>
    public string Describe()
    {
        string users = Users.Count == 0 ? "" : $", of the users {string.Join(", ", Users)}";
        string group = Group is { } id ? $", of the members of group {id}" : "";
        return $"of user {HostSystem.Current.OwnUser}{users}{group} and of {HostSystem.Current.AllPowerfulName}";
    }
}
