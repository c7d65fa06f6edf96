using System.Buffers;
using System.Runtime.Versioning;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The directory for the sockets of named servers. Only its user may have access; otherwise another user could put a
/// socket under a name that clients trust.
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

    /// <summary>Creates the directory if it is missing, and checks that no other user has access.</summary>
    /// <exception cref="IOException">It cannot be created, or it belongs to or is open to another user.</exception>
    [SupportedOSPlatform("linux")]
    public static void Ensure(string directory)
    {
        try
        {
            Directory.CreateDirectory(directory, OwnerOnly);
        }
        catch (UnauthorizedAccessException exception)
        {
            throw new IOException($"Cannot make the runtime directory '{directory}': {exception.Message}", exception);
        }

        FileFacts facts = FileFacts.OfPath(directory)
            ?? throw new IOException($"The runtime directory '{directory}' has gone.");
        uint me = LinuxNative.GetEffectiveUserId();
        if (!facts.IsDirectory || facts.UserId != me || facts.IsOpenToOthers)
        {
            throw new IOException(
                $"The runtime directory '{directory}' must be a directory of user {me} "
                + "with no access for others (mode 0700); "
                + $"it belongs to user {facts.UserId} "
                + $"and has mode {Convert.ToString(facts.Mode & 0xFFF, 8).PadLeft(4, '0')}.");
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
    /// Removes a socket or lock file. Never throws an I/O error: if the directory is gone or belongs to another user
    /// meanwhile, stopping a server must still succeed.
    /// </summary>
    public static void Remove(string path)
    {
        try
        {
            File.Delete(path);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // The file is gone with its directory, or it remains as a closed socket, which refuses clients.
        }
    }

    // Returns the server name of a socket file; null if the file name does not contain it, as with a hashed name.
    private static string? NameOf(string socketPath)
    {
        string name = Path.GetFileNameWithoutExtension(socketPath).Replace('+', '/');
        return name.AsSpan().ContainsAnyExcept(NameCharsAndSlash) ? null : name;
    }
}
