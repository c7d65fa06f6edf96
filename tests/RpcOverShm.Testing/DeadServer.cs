using System.Net.Sockets;

namespace RpcOverShm.Testing;

/// <summary>
/// The files that a killed server leaves: a socket that no process has, and a lock file without a holder.
/// </summary>
public static class DeadServer
{
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    /// <summary>Leaves both files; the lock file has this content.</summary>
    public static void Leave(string socketPath, string processId = "1\n")
    {
        if (OperatingSystem.IsWindows())
        {
            throw new PlatformNotSupportedException();
        }

        // A socket that .NET has bound deletes the file of this name when it is disposed, so it gets another one.
        string bound = Path.Combine(Path.GetDirectoryName(socketPath)!, UniqueName.Next());
        using (Socket socket = UnixSockets.New())
        {
            socket.Bind(new UnixDomainSocketEndPoint(bound));
            File.Move(bound, socketPath);
        }

        string lockPath = Path.ChangeExtension(socketPath, ".lock");
        File.WriteAllText(lockPath, processId);
        File.SetUnixFileMode(lockPath, OwnerOnly);
    }
}
