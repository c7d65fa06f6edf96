using RpcOverShm.Linux;
using RpcOverShm.Tool.Commands;

namespace RpcOverShm.Tool.Doctor;

/// <summary>Looks at the runtime directory, what is in it, and where else servers of this machine are.</summary>
/// <param name="directory">The runtime directory that was chosen.</param>
/// <param name="choice">The reason of the choice; null if the command line names the directory.</param>
internal sealed class DirectoryChecks(EndpointDirectory directory, DefaultDirectory? choice)
{
    private const string Subject = "runtime directory";
    private const string Servers = "servers";
    private const int MaxPathBytes = 107;
    private const int LongestFileName = 1 + 32 + 5; // '~', the hash of a name, ".sock"

    // File systems without sockets or locks that all processes see.
    private static readonly string[] s_unfitFormats =
        ["9p", "v9fs", "drvfs", "vfat", "msdos", "exfat", "ntfs", "fuseblk", "nfs", "cifs", "smb", "smb2", "smbfs"];

    private string Path => directory.Path;

    /// <summary>Returns the findings.</summary>
    public IEnumerable<Finding> Run() =>
        [.. Choice(), .. Permissions(), .. FileSystem(), .. Endpoints(), .. Elsewhere()];

    private IEnumerable<Finding> Choice()
    {
        if (choice is { IsInsteadOfVariable: true })
        {
            yield return Finding.Warning(
                Subject,
                $"{choice.Reason}.",
                "Let the variable name a directory of your own with mode 0700, or set RuntimeDirectory on both sides.");
        }

        if (System.Text.Encoding.UTF8.GetByteCount(Path) + 1 + LongestFileName > MaxPathBytes)
        {
            yield return Finding.Problem(
                Subject,
                $"The path {Path} is too long: with the name of a socket it exceeds the {MaxPathBytes} bytes of the "
                + "system.",
                "Set RuntimeDirectory on both sides to a shorter path.");
        }
    }

    private IEnumerable<Finding> Permissions()
    {
        FileFacts? facts = Facts(Path, out string? problem);
        if (problem is not null)
        {
            return [Finding.Problem(Subject, problem, "Open the directories of the path to this user.")];
        }

        if (facts is null)
        {
            return [CheckParent() ?? Finding.Ok(Subject, $"{Path} does not exist yet; the first server makes it.")];
        }

        uint me = LinuxNative.GetEffectiveUserId();
        bool isShared = facts is { IsDirectory: true, IsOpenToOthers: true, IsWritableByGroupOrOthers: false }
            && facts.Value.UserId == me;
        if (isShared)
        {
            return
            [
                Finding.Note(
                    Subject,
                    $"{Path} has mode {facts.Value.ModeText}: servers that set AllowedUsers or AllowedGroup can use "
                    + "it, others refuse it.",
                    $"For servers without these options: chmod 0700 {Path}"),
            ];
        }

        try
        {
            RuntimeDirectory.Ensure(Path);
            return [Finding.Ok(Subject, $"{Path} belongs to user {me} and has mode {facts.Value.ModeText}.")];
        }
        catch (IOException exception)
        {
            return
            [
                Finding.Problem(
                    Subject,
                    exception.Message,
                    facts.Value.UserId == me
                        ? $"chmod 0700 {Path}"
                        : "Remove it as its owner or root, or set RuntimeDirectory on both sides."),
            ];
        }
    }

    private Finding? CheckParent()
    {
        string parent = Path;
        do
        {
            parent = System.IO.Path.GetDirectoryName(parent) ?? "/";
        }
        while (!Directory.Exists(parent));

        try
        {
            RuntimeDirectory.CheckHolder(parent, "that holds the runtime directory");
            return null;
        }
        catch (IOException exception)
        {
            return Finding.Problem(
                Subject, exception.Message, "Correct its owner and mode, or set RuntimeDirectory on both sides.");
        }
    }

    private IEnumerable<Finding> FileSystem()
    {
        if (!Directory.Exists(Path))
        {
            return [];
        }

        string format = new DriveInfo(Path).DriveFormat;
        return
        [
            s_unfitFormats.Contains(format)
                ? Finding.Problem(
                    "file system",
                    $"{Path} is on a file system of type {format}, which may have no sockets or no locks.",
                    "Set RuntimeDirectory on both sides to a directory on a file system of Linux, such as /run.")
                : Finding.Ok("file system", $"It is of type {format}."),
        ];
    }

    private IEnumerable<Finding> Endpoints()
    {
        IReadOnlyList<Endpoint> all = ReadEndpoints(directory);
        int dead = all.Count(one => !one.IsAlive);
        if (dead > 0)
        {
            yield return Finding.Note(
                "stale files",
                $"{(dead == 1 ? "A dead server has" : $"{dead} dead servers have")} left files in {Path}.",
                "rpcshm clean removes them.");
        }

        Endpoint[] foreign = [.. all.Where(one => one is { IsAlive: true, ProcessId: not null, Process: null })];
        if (foreign.Length > 0)
        {
            yield return Finding.Note(
                Servers,
                $"{Names(foreign)}: the process is not visible here, because it is in another container.");
        }

        int alive = all.Count(one => one.IsAlive);
        string running = alive switch { 0 => "None runs", 1 => "One runs", _ => $"{alive} run" };
        yield return Finding.Ok(Servers, $"{running} in {Path}.");
    }

    // The usual reason why a client finds no server: the two have chosen different directories.
    private IEnumerable<Finding> Elsewhere()
    {
        uint me = LinuxNative.GetEffectiveUserId();
        foreach (string other in OtherDirectories())
        {
            if (Facts(other, out _) is not { IsDirectory: true } facts)
            {
                continue;
            }

            if (facts.UserId != me)
            {
                yield return Finding.Note(
                    Servers,
                    $"{other} belongs to user {facts.UserId}: its servers are found by that user only.",
                    "To share a server: AllowedUsers or AllowedGroup, and RuntimeDirectory on both sides.");
                continue;
            }

            Endpoint[] alive = [.. ReadEndpoints(new EndpointDirectory(other)).Where(one => one.IsAlive)];
            if (alive.Length > 0)
            {
                yield return Finding.Warning(
                    Servers,
                    $"{Names(alive)} of this user run in {other}, where clients with the variables of this process do "
                    + "not look.",
                    "Set RuntimeDirectory on both sides, or start both with the same XDG_RUNTIME_DIR.");
            }
        }
    }

    private IEnumerable<string> OtherDirectories()
    {
        string[] runtimes = ["/run/user", System.IO.Path.GetTempPath(), "/tmp"];
        return runtimes.Where(Directory.Exists)
            .SelectMany(parent => parent == runtimes[0]
                ? List(parent, "*").Select(user => System.IO.Path.Combine(user, "rpcovershm"))
                : List(parent, "rpcovershm-*"))
            .Distinct().Where(other => other != Path);
    }

    private static string[] List(string parent, string pattern)
    {
        try
        {
            return Directory.GetDirectories(parent, pattern);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return [];
        }
    }

    private static IReadOnlyList<Endpoint> ReadEndpoints(EndpointDirectory directory)
    {
        try
        {
            return directory.Read();
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return [];
        }
    }

    private static FileFacts? Facts(string path, out string? problem)
    {
        problem = null;
        try
        {
            return FileFacts.OfPath(path);
        }
        catch (IOException exception)
        {
            problem = exception.Message;
            return null;
        }
    }

    private static string Names(Endpoint[] endpoints) =>
        string.Join(", ", endpoints.Take(5).Select(one => one.Address))
        + (endpoints.Length > 5 ? $" and {endpoints.Length - 5} more" : "");
}
