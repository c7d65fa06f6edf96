using System.Net.Sockets;

namespace RpcOverShm.Links;

/// <summary>
/// Decides which peers are let in: those of this process's user and of root, the named users, and the members of one
/// group. Determines the permissions that the socket and its directory need for them. Immutable.
/// </summary>
/// <param name="Users">The further users.</param>
/// <param name="Group">The group; null for none.</param>
internal sealed record AccessPolicy(IReadOnlyList<uint> Users, uint? Group)
{
    /// <summary>The text that a refused client gets. It tells nothing about the server's process or users.</summary>
    public const string Refusal =
        "Access denied. The options AllowedUsers and AllowedGroup of the server say who may connect.";

    /// <summary>Only this process's user and root.</summary>
    public static AccessPolicy OwnUserOnly { get; } = new([], null);

    /// <summary>Whether it lets in other users.</summary>
    public bool IsShared => Users.Count > 0 || Group is not null;

    /// <summary>
    /// The group that socket and directory must belong to; null if their permissions for everyone suffice.
    /// </summary>
    public uint? SocketGroup => Users.Count == 0 ? Group : null;

    /// <summary>
    /// The permissions of the socket. Named users need those of everyone: the check of the peer's identity keeps the
    /// others out.
    /// </summary>
    public uint SocketMode => Mode(0x1B6, 0x1B0, 0x180); // 0666, 0660, 0600

    /// <summary>The permissions of a directory made for the socket: others may search it, but not list it.</summary>
    public uint DirectoryMode => Mode(0x1C9, 0x1C8, 0x1C0); // 0711, 0710, 0700

    /// <summary>Returns whether the peer of a connected socket is let in. Only the kernel is asked.</summary>
    /// <exception cref="IOException">The kernel does not supply the peer's groups.</exception>
    public bool Admits(PeerIdentity peer, Socket socket) =>
        peer.IsTrusted
        || Users.Contains(peer.UserId)
        || (Group is { } group && peer.IsMember(group, socket));

    /// <summary>Describes those who are let in, for logs and messages on this side.</summary>
    public string Describe(uint ownUser)
    {
        string users = Users.Count == 0 ? "" : $", of the users {string.Join(", ", Users)}";
        string group = Group is { } id ? $", of the members of group {id}" : "";
        return $"of user {ownUser}{users}{group} and of root";
    }

    private uint Mode(uint forUsers, uint forGroup, uint forOwner) =>
        Users.Count > 0 ? forUsers : SocketGroup is not null ? forGroup : forOwner;
}
