using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>The permissions that a socket and its directory need for the peers that are let in.</summary>
internal static class SocketModes
{
    /// <summary>
    /// The group that socket and directory must belong to; null if their permissions for everyone suffice.
    /// </summary>
    public static Account? GroupOf(AccessPolicy access) => access.Users.Count == 0 ? access.Group : null;

    /// <summary>
    /// The permissions of the socket. Named users need those of everyone: the check of the peer's identity keeps the
    /// others out.
    /// </summary>
    public static uint OfSocket(AccessPolicy access) => Mode(access, 0x1B6, 0x1B0, 0x180); // 0666, 0660, 0600

    /// <summary>The permissions of a directory made for the socket: others may search it, but not list it.</summary>
    public static uint OfDirectory(AccessPolicy access) => Mode(access, 0x1C9, 0x1C8, 0x1C0); // 0711, 0710, 0700

    private static uint Mode(AccessPolicy access, uint forUsers, uint forGroup, uint forOwner) =>
        access.Users.Count > 0 ? forUsers : access.Group is not null ? forGroup : forOwner;
}
