using System.Buffers;
using System.Runtime.Versioning;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The directory in which named servers meet their clients: of this user alone, or anybody could put a socket under a
/// name that clients trust.
/// </summary>
internal static class RuntimeDirectory
{
    /// <summary>The end of the name of every socket in the directory.</summary>
    public const string SocketSuffix = ".sock";

    private const string NameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
    private const string Variable = "XDG_RUNTIME_DIR";
    private const int MaxNamesTold = 8;
    private const int MaxFilesSeen = 100;
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    /// <summary>The characters of a segment of a name.</summary>
    public static SearchValues<char> NameChars { get; } = SearchValues.Create(NameLetters);

    /// <summary>The characters of a name.</summary>
    public static SearchValues<char> NameCharsAndSlash { get; } = SearchValues.Create(NameLetters + "/");

    /// <summary>
    /// <c>$XDG_RUNTIME_DIR/rpcovershm</c> where the system gives users such a directory, else one of the user's own
    /// under the directory for temporary files. Read anew each time: the environment may differ between tests.
    /// </summary>
    public static string Default
    {
        get
        {
            if (IsGivenBySystem)
            {
                return Path.Combine(Environment.GetEnvironmentVariable(Variable)!, "rpcovershm");
            }

            // Elsewhere nothing is opened, but an address can be made.
            string user = OperatingSystem.IsLinux() ? $"{LinuxNative.GetEffectiveUserId()}" : Environment.UserName;
            return Path.Combine(Path.GetTempPath(), $"rpcovershm-{user}");
        }
    }

    /// <summary>The advice for a client that finds no server in <see cref="Default"/>.</summary>
    public static string Advice =>
        $"{Variable} is {(IsGivenBySystem ? "" : "not ")}set here; a server that was started with another one listens "
        + "elsewhere: set RuntimeDirectory on both.";

    private static bool IsGivenBySystem =>
        Path.IsPathFullyQualified(Environment.GetEnvironmentVariable(Variable) ?? "");

    /// <summary>Makes the directory where it is missing, and checks that nobody else can write it.</summary>
    /// <exception cref="IOException">It cannot be made, or belongs to or is open to somebody else.</exception>
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
    /// A sentence with the names that stand in a directory, the first few of them. A directory that others own, or may
    /// write, is not listed: its names would be theirs.
    /// </summary>
    public static string DescribeNames(string directory)
    {
        try
        {
            // Root sees all; the directory of anybody else is as the server's must be.
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
    /// Removes a file of the rendezvous. Where that fails the directory is gone or not this user's any more, and the
    /// end of a server must not fail for it.
    /// </summary>
    public static void Remove(string path)
    {
        try
        {
            File.Delete(path);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // Whoever took the directory away has taken the file too, or it refuses clients from here on.
        }
    }

    // The name whose socket a file is; null where that is not to be seen.
    private static string? NameOf(string socketPath)
    {
        string name = Path.GetFileNameWithoutExtension(socketPath).Replace('+', '/');
        return name.AsSpan().ContainsAnyExcept(NameCharsAndSlash) ? null : name;
    }
}
