using System.Buffers;
using System.Runtime.Versioning;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The directory for the sockets of named servers. Only its user may write to it; otherwise another user could put a
/// socket under a name that clients trust. Other users may search it only if the server lets some of them in.
/// </summary>
internal static class RuntimeDirectory
{
    /// <summary>The file name extension of the sockets.</summary>
    public const string SocketSuffix = ".sock";

    private const string NameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
    private const string Variable = "XDG_RUNTIME_DIR";
    private const int MaxNamesTold = 8;
    private const int MaxFilesSeen = 100;
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    /// <summary>The characters that are allowed in a segment of a name.</summary>
    public static SearchValues<char> NameChars { get; } = SearchValues.Create(NameLetters);

    /// <summary>The characters that are allowed in a name.</summary>
    public static SearchValues<char> NameCharsAndSlash { get; } = SearchValues.Create(NameLetters + "/");

    /// <summary>
    /// The default directory: <c>$XDG_RUNTIME_DIR/rpcovershm</c> if that variable is an absolute path, else a directory
    /// of the user's own under the directory for temporary files. Evaluated each time, because tests change the
    /// environment.
    /// </summary>
    public static string Default => IsGivenBySystem
        ? Path.Combine(Environment.GetEnvironmentVariable(Variable)!, "rpcovershm")
        : Path.Combine(Path.GetTempPath(), $"rpcovershm-{User}");

    /// <summary>Advice for a client that finds no server in <see cref="Default"/>.</summary>
    public static string Advice =>
        $"{Variable} is {(IsGivenBySystem ? "" : "not ")}set here; a server that was started with another one listens "
        + "elsewhere: set RuntimeDirectory on both.";

    // Addresses can be parsed also on systems without a transport, which lack geteuid.
    private static string User =>
        OperatingSystem.IsLinux() ? $"{LinuxNative.GetEffectiveUserId()}" : Environment.UserName;

    private static bool IsGivenBySystem =>
        Path.IsPathFullyQualified(Environment.GetEnvironmentVariable(Variable) ?? "");

    /// <summary>Creates the directory if it is missing, and checks its permissions and those of its parent.</summary>
    /// <exception cref="IOException">
    /// It cannot be created, it belongs to another user, others may write to it, or those who are let in cannot search
    /// it.
    /// </exception>
    [SupportedOSPlatform("linux")]
    public static void Ensure(string directory, AccessPolicy? access = null)
    {
        access ??= AccessPolicy.OwnUserOnly;
        if (access.IsShared)
        {
            CreateShared(directory, access);
        }
        else
        {
            Create(directory, OwnerOnly);
        }

        // The owner of the parent can put another directory in the place of this one.
        CheckHolder(Path.GetDirectoryName(directory) ?? directory, "that holds the runtime directory");
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
    /// Returns a sentence with the first few server names in a directory. A directory that belongs or is open to
    /// another user is not listed, because the names could be that user's.
    /// </summary>
    public static string DescribeNames(string directory)
    {
        try
        {
            // Root may list every directory; for other users the same conditions hold as in Ensure.
            uint me = LinuxNative.GetEffectiveUserId();
            if (FileFacts.OfPath(directory) is { } facts && me != 0 && (facts.UserId != me || facts.IsOpenToOthers))
            {
                return "This directory belongs to or is open to another user.";
            }

            string[] names =
            [
                .. Directory.EnumerateFileSystemEntries(directory, "*" + SocketSuffix)
                    .Take(MaxFilesSeen).Select(NameOf).OfType<string>().Take(MaxNamesTold + 1),
            ];
            string told = string.Join(", ", names.Take(MaxNamesTold).Order(StringComparer.Ordinal));
            return names.Length == 0
                ? "There are no names in this directory."
                : $"Names in this directory: {told}{(names.Length > MaxNamesTold ? " and more" : "")}.";
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return exception is DirectoryNotFoundException
                ? "This directory does not exist."
                : "This directory can't be read.";
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

    [SupportedOSPlatform("linux")]
    private static void Create(string directory, UnixFileMode mode)
    {
        try
        {
            Directory.CreateDirectory(directory, mode);
        }
        catch (UnauthorizedAccessException exception)
        {
            throw new IOException($"Cannot make the runtime directory '{directory}': {exception.Message}", exception);
        }
    }

    [SupportedOSPlatform("linux")]
    private static void CreateShared(string directory, AccessPolicy access)
    {
        if (FileFacts.OfPath(directory) is not null)
        {
            return;
        }

        // A parent that was made here would need permissions too, which only its owner can decide.
        if (!Directory.Exists(Path.GetDirectoryName(directory)))
        {
            throw new IOException(
                $"The runtime directory '{directory}' cannot be made: its parent does not exist. "
                + "Create the parent so that those who are let in may search it.");
        }

        // Before the new directory gets its group and permissions: nobody may put another one in its place.
        CheckHolder(Path.GetDirectoryName(directory)!, "that holds the runtime directory");
        Create(directory, (UnixFileMode)access.DirectoryMode);
        using PinnedFile made = PinnedFile.Open(directory);
        if (!made.Facts.IsDirectory || made.Facts.UserId != LinuxNative.GetEffectiveUserId())
        {
            throw new IOException($"The runtime directory '{directory}' was replaced while it was made.");
        }

        if (access.SocketGroup is { } group)
        {
            made.SetGroup(group);
        }

        // The process's umask may have taken some permissions away.
        made.SetMode(access.DirectoryMode);
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
            || (facts.GroupId == access.SocketGroup && facts.IsSearchableByGroup);
        return isSearchable
            ? null
            : access.Users.Count > 0
                ? "that the users in AllowedUsers may search (mode 0711)"
                : $"that group {access.Group}, the AllowedGroup, may search (that group and mode 0710)";
    }

    // Returns the server name of a socket file; null if the file name does not contain it, as with a hashed name.
    private static string? NameOf(string socketPath)
    {
        string name = Path.GetFileNameWithoutExtension(socketPath).Replace('+', '/');
        return name.AsSpan().ContainsAnyExcept(NameCharsAndSlash) ? null : name;
    }
}
