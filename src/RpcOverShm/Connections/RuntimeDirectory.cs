using System.Runtime.Versioning;
using RpcOverShm.Segments;

namespace RpcOverShm.Connections;

/// <summary>
/// The directory in which named servers meet their clients: of this user alone, or anybody could put a socket under a
/// name that clients trust.
/// </summary>
internal static class RuntimeDirectory
{
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    /// <summary>
    /// <c>$XDG_RUNTIME_DIR/rpcovershm</c> where the system gives users such a directory, else one of the user's own
    /// under the directory for temporary files. Read anew each time: the environment may differ between tests.
    /// </summary>
    public static string Default
    {
        get
        {
            string? runtime = Environment.GetEnvironmentVariable("XDG_RUNTIME_DIR");
            return Path.IsPathFullyQualified(runtime ?? "")
                ? Path.Combine(runtime!, "rpcovershm")
                : Path.Combine(Path.GetTempPath(), $"rpcovershm-{LinuxNative.GetEffectiveUserId()}");
        }
    }

    /// <summary>Makes the directory where it is missing, and checks that nobody else can write it.</summary>
    /// <exception cref="IOException">It cannot be made, or belongs to or is open to somebody else.</exception>
    [UnsupportedOSPlatform("windows")]
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
}
