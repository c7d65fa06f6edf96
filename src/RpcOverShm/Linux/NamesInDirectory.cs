using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>
/// The servers of a runtime directory by their sockets: tells the living ones, and removes what the dead ones have
/// left. Any file may stand there. The number of files that are looked at is bounded. The class has no state.
/// </summary>
internal static class NamesInDirectory
{
    /// <summary>The maximum number of dead servers whose files one start removes.</summary>
    public const int MaxRemoved = 100;

    private const int MaxTold = 8;
    private const int MaxFilesSeen = 2000;

    /// <summary>
    /// Returns a sentence with the first few names of living servers in a directory. A directory that belongs to
    /// another user, or in which one may write, is not listed: the names could be that user's.
    /// </summary>
    public static string Describe(string directory)
    {
        try
        {
            // Root may list every directory; for other users the same conditions hold as in RuntimeDirectory.Ensure.
            uint me = LinuxNative.GetEffectiveUserId();
            if (FileFacts.OfPath(directory) is { } facts
                && me != 0
                && (facts.UserId != me || facts.IsWritableByGroupOrOthers))
            {
                return "This directory belongs to another user, or others may write in it.";
            }

            string[] names =
            [
                .. SocketPaths(directory)
                    .Where(path => SocketFile.StateOf(path) == SocketPathState.Live)
                    .Select(NameOf).OfType<string>().Take(MaxTold + 1),
            ];
            string told = string.Join(", ", names.Take(MaxTold).Order(StringComparer.Ordinal));
            return names.Length == 0
                ? "No server runs in this directory."
                : $"Names in this directory: {told}{(names.Length > MaxTold ? " and more" : "")}.";
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return exception is DirectoryNotFoundException
                ? "This directory does not exist."
                : "This directory can't be read.";
        }
    }

    /// <summary>
    /// Removes the sockets and lock files of dead servers, at most <see cref="MaxRemoved"/> of each. Returns the number
    /// of the servers. Never throws an I/O error: what cannot be removed stays.
    /// </summary>
    public static int RemoveDead(string directory)
    {
        int removed = 0;
        try
        {
            foreach (string socketPath in SocketPaths(directory))
            {
                if (removed < MaxRemoved && TryRemoveDead(socketPath))
                {
                    removed++;
                }
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // The directory has gone, or cannot be listed.
        }

        return removed;
    }

    private static IEnumerable<string> SocketPaths(string directory) =>
        Directory.EnumerateFileSystemEntries(directory).Take(MaxFilesSeen)
            .Where(path => path.EndsWith(RuntimeDirectory.SocketSuffix, StringComparison.Ordinal));

    // Both files must look as a server of this user has made them, and the lock keeps others away meanwhile. A socket
    // or a lock file alone may be another program's.
    private static bool TryRemoveDead(string socketPath)
    {
        try
        {
            // While the socket is held, no other file gets its inode number.
            using var socket = PinnedFile.Open(socketPath);
            FileFacts facts = socket.Facts;
            if (!facts.IsSocket || facts.UserId != LinuxNative.GetEffectiveUserId() || !IsDead(socketPath))
            {
                return false;
            }

            string lockPath = Path.ChangeExtension(socketPath, SocketAddress.LockSuffix);
            using RendezvousLock? held = RendezvousLock.TryTakeLeftBehind(lockPath);
            if (held is null || !IsDead(socketPath))
            {
                return false;
            }

            // If this process dies between the two, the lock file remains, as after rendezvous-unbound.
            RuntimeDirectory.Remove(socketPath, facts);
            return true;
        }
        catch (IOException)
        {
            return false; // It has gone meanwhile, or the system refused a step.
        }
    }

    private static bool IsDead(string socketPath) => SocketFile.StateOf(socketPath) == SocketPathState.Dead;

    // Returns the server name of a socket file; null if the file name does not contain it, as with a hashed name.
    private static string? NameOf(string socketPath)
    {
        string name = Path.GetFileNameWithoutExtension(socketPath).Replace('+', '/');
        return name.AsSpan().ContainsAnyExcept(RendezvousAddress.NameCharsAndSlash) ? null : name;
    }
}
