namespace RpcOverShm.Systems;

/// <summary>
/// The process, user and group of the peer at the time when it connected or began to listen. The system supplies them,
/// never the peer. A system without a main group of a process names the user here again.
/// </summary>
internal readonly record struct PeerIdentity(int ProcessId, Account User, Account Group)
{
    // The names of the ids where users see them, in claims and in the AuthContext.
    public const string ProcessIdName = "pid";
    public const string UserIdName = "uid";
    public const string GroupIdName = "gid";

    /// <summary>Whether the peer has this process's user.</summary>
    public bool IsOwnUser => User == HostSystem.Current.OwnUser;

    /// <summary>Whether the peer has this process's user, or one who can read any process's memory.</summary>
    public bool IsTrusted => IsOwnUser || HostSystem.Current.IsAllPowerful(User);

    public override string ToString() => $"process {ProcessId}, user {User}";
}
