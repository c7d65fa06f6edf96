using System.Runtime.InteropServices;
using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>
/// The directory for the sockets of named servers. Only its user may write to it; otherwise another user could put a
/// socket under a name that clients trust. Other users may search it only if the server lets some of them in.
/// </summary>
internal static class RuntimeDirectory
{
    /// <summary>The file name extension of the sockets.</summary>
    public const string SocketSuffix = ".sock";

    private const string HolderRole = "that holds the runtime directory";
    private const uint ModeOfParent = 0x1ED; // 0755

    /// <summary>
    /// Creates the directory if it is missing, and checks its permissions and those of its parent. If it is refused,
    /// nothing that was made remains.
    /// </summary>
    /// <exception cref="IOException">
    /// It cannot be created, it belongs to another user, others may write to it, or those who are let in cannot search
    /// it.
    /// </exception>
    public static void Ensure(string directory, AccessPolicy? access = null)
    {
        access ??= AccessPolicy.OwnUserOnly;
        var made = new Stack<string>();
        try
        {
            if (FileFacts.OfPath(directory) is null)
            {
                Make(directory, access, made);
            }

            Check(directory, access);
        }
        catch
        {
            foreach (string one in made)
            {
                RemoveEmpty(one);
            }

            throw;
        }
    }

    /// <summary>
    /// Checks that no other user can put another file in the place of one in this directory. A sticky directory, such
    /// as /tmp, lets no user remove or rename the files of another.
    /// </summary>
    /// <param name="directory">The directory; a link to one counts as the directory.</param>
    /// <param name="role">The words behind its name in the message.</param>
    /// <exception cref="IOException">The directory is missing, another user's, or writable by all.</exception>
    public static void CheckHolder(string directory, string role)
    {
        // With the dot, the system follows a link at the end.
        FileFacts facts = FileFacts.OfPath(directory + "/.")
            ?? throw new IOException($"The directory '{directory}' {role} does not exist.");
        uint me = LinuxNative.GetEffectiveUserId();
        if ((facts.UserId != me && facts.UserId != 0) || facts.IsWritableByAnyone)
        {
            throw new IOException(
                $"The directory '{directory}' {role} must belong to user {me} or to root, and must not be writable by "
                + $"all users unless it is sticky; it belongs to user {facts.UserId} and has mode {facts.ModeText}.");
        }
    }

    /// <summary>
    /// Removes a socket or lock file, unless another file has taken its place. Never throws an I/O error: if the
    /// directory is gone or belongs to another user meanwhile, stopping a server must still succeed.
    /// </summary>
    /// <param name="path">The path at which the file was made.</param>
    /// <param name="made">The file that was made, which a descriptor keeps from being freed.</param>
    public static void Remove(string path, in FileFacts made)
    {
        try
        {
            // The system cannot compare and remove in one step. Only users who may write to the directory can make use
            // of the moment between the two.
            if (FileFacts.OfPath(path) is { } found && found.IsSameFileAs(made))
            {
                File.Delete(path);
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // The file is gone with its directory, or it remains as a closed socket, which refuses clients.
        }
    }

    private static void Make(string directory, AccessPolicy access, Stack<string> made)
    {
        var missing = new Stack<string>();
        for (string? next = directory; next is not null && FileFacts.OfPath(next) is null;)
        {
            missing.Push(next);
            next = Path.GetDirectoryName(next);
        }

        // A parent that was made here would need permissions too, which only its owner can decide.
        if (access.IsShared && missing.Count > 1)
        {
            throw new IOException(
                $"The runtime directory '{directory}' cannot be made: its parent does not exist. "
                + "Create the parent so that those who are let in may search it.");
        }

        foreach (string next in missing)
        {
            // Before each is made: what another user can replace must get no directory of this one.
            CheckHolder(Path.GetDirectoryName(next) ?? next, HolderRole);
            if (TryMake(next, next == directory ? SocketModes.OfDirectory(access) : ModeOfParent))
            {
                made.Push(next);
            }
        }

        if (access.IsShared)
        {
            Open(directory, access);
        }
    }

    /// <summary>Makes one directory. Returns false if another process has made it meanwhile.</summary>
    private static bool TryMake(string directory, uint mode)
    {
        if (LinuxNative.MakeDirectory(directory, mode) == 0)
        {
            return true;
        }

        return Marshal.GetLastPInvokeError() == LinuxNative.ErrnoEEXIST
            ? false
            : throw new IOException(
                $"Cannot make the runtime directory '{directory}': {LinuxNative.LastErrorText()}.");
    }

    // Opens a directory that was made to those who are let in.
    private static void Open(string directory, AccessPolicy access)
    {
        using var made = PinnedFile.Open(directory);
        if (!made.Facts.IsDirectory || made.Facts.UserId != LinuxNative.GetEffectiveUserId())
        {
            throw new IOException($"The runtime directory '{directory}' was replaced while it was made.");
        }

        if (SocketModes.GroupOf(access) is { } group)
        {
            made.SetGroup(group.Number);
        }

        // The process's umask may have taken some permissions away.
        made.SetMode(SocketModes.OfDirectory(access));
    }

    private static void Check(string directory, AccessPolicy access)
    {
        // The owner of the parent can put another directory in the place of this one.
        CheckHolder(Path.GetDirectoryName(directory) ?? directory, HolderRole);
        FileFacts facts = FileFacts.OfPath(directory)
            ?? throw new IOException($"The runtime directory '{directory}' has gone.");
        uint me = LinuxNative.GetEffectiveUserId();
        string? problem = access.IsShared ? SharedProblem(facts, access, me) : OwnProblem(facts, me);
        if (problem is not null)
        {
            throw new IOException(
                $"The runtime directory '{directory}' must be a directory of user {me} {problem}; "
                + $"it belongs to user {facts.UserId} and group {facts.GroupId} and has mode {facts.ModeText}.");
        }
    }

    private static string? OwnProblem(in FileFacts facts, uint me) =>
        !facts.IsDirectory || facts.UserId != me || facts.IsOpenToOthers
            ? "with no access for others (mode 0700)"
            : null;

    private static string? SharedProblem(in FileFacts facts, AccessPolicy access, uint me)
    {
        if (!facts.IsDirectory || facts.UserId != me || facts.IsWritableByGroupOrOthers)
        {
            return "that nobody else may write to";
        }

        bool isSearchable = facts.IsSearchableByOthers
            || (facts.GroupId == SocketModes.GroupOf(access)?.Number && facts.IsSearchableByGroup);
        return isSearchable
            ? null
            : access.Users.Count > 0
                ? "that the users in AllowedUsers may search (mode 0711)"
                : $"that group {access.Group}, the AllowedGroup, may search (that group and mode 0710)";
    }

    private static void RemoveEmpty(string directory)
    {
        try
        {
            Directory.Delete(directory);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // Another process has put a file there, or has removed it.
        }
    }
}
