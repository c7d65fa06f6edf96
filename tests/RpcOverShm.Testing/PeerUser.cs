using System.Globalization;

namespace RpcOverShm.Testing;

/// <summary>
/// Another user, as whom root starts a second process. The numbers need no entries in the user database.
/// </summary>
/// <param name="User">The number of the user.</param>
/// <param name="Group">The number of its group.</param>
/// <param name="Groups">The numbers of its supplementary groups.</param>
public sealed record PeerUser(uint User, uint Group, params uint[] Groups)
{
    /// <summary>The maximum number of open descriptors; null leaves that of this process.</summary>
    public int? MaxDescriptors { get; init; }

    /// <summary>Variables of its environment, each as "NAME=value", besides those of this process.</summary>
    public IReadOnlyList<string> Variables { get; init; } = [];

    /// <summary>Returns the command that runs another command as this user.</summary>
    public string[] Wrap(IEnumerable<string> command)
    {
        string groups = string.Join(',', Groups);
        string[] limit = MaxDescriptors is { } most ? ["prlimit", $"--nofile={most}:{most}"] : [];
        return
        [
            .. limit,
            "env", .. Variables,
            "setpriv",
            "--reuid", User.ToString(CultureInfo.InvariantCulture),
            "--regid", Group.ToString(CultureInfo.InvariantCulture),
            .. groups.Length == 0 ? (string[])["--clear-groups"] : ["--groups", groups],
            .. command,
        ];
    }
}
