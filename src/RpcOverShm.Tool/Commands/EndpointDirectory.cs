using RpcOverShm.Linux;
using RpcOverShm.Systems;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Commands;

/// <summary>
/// The servers of a runtime directory, read from its files and the system's tables: no server notices that.
/// </summary>
/// <param name="path">The directory; null for the one that names resolve in without the option.</param>
internal sealed class EndpointDirectory(string? path)
{
    private const string Scheme = "shm://";
    private const string ConnectedState = "03";

    /// <summary>The directory.</summary>
    public string Path { get; } = path switch
    {
        null => DefaultDirectory.Choose().Directory,
        _ when System.IO.Path.IsPathFullyQualified(path) => System.IO.Path.GetFullPath(path),
        _ => throw new ToolException(
            ExitCode.BadInput, $"The runtime directory is an absolute path, such as /run/my-app; not '{path}'."),
    };

    /// <summary>Returns the servers by address; none if there is no such directory.</summary>
    /// <exception cref="IOException">The directory cannot be read.</exception>
    /// <exception cref="UnauthorizedAccessException">This user may not read it.</exception>
    public IReadOnlyList<Endpoint> Read()
    {
        if (!Directory.Exists(Path))
        {
            return [];
        }

        Dictionary<string, int>? connections = CountConnections();
        return
        [
            .. Directory.EnumerateFileSystemEntries(Path, "*" + RuntimeDirectory.SocketSuffix)
                .Union(Directory.EnumerateFileSystemEntries(Path, "*" + SocketAddress.LockSuffix)
                    .Select(file => file[..^SocketAddress.LockSuffix.Length]))
                .Select(socket => Look(socket, connections)).OfType<Endpoint>()
                .OrderBy(one => one.Address, StringComparer.Ordinal),
        ];
    }

    /// <summary>
    /// Removes what dead servers have left; returns the addresses of those that are gone now, and of those that stay.
    /// </summary>
    /// <exception cref="IOException">The directory cannot be read.</exception>
    /// <exception cref="UnauthorizedAccessException">This user may not read it.</exception>
    public (IReadOnlyList<string> Removed, IReadOnlyList<string> Left) RemoveDead()
    {
        string[] before = Dead();
        string[] left = before;
        int count;
        do
        {
            // A pass removes a bounded number of them, and nothing where this user may not write.
            count = left.Length;
            NamesInDirectory.RemoveDead(Path);
            left = Dead();
        }
        while (left.Length < count);

        return ([.. before.Except(left)], left);
    }

    private string[] Dead() => [.. Read().Where(one => !one.IsAlive).Select(one => one.Address)];

    private static Endpoint? Look(string socketPath, Dictionary<string, int>? connections)
    {
        SocketPathState state = SocketFile.StateOf(socketPath);
        if (state is not (SocketPathState.Live or SocketPathState.Dead))
        {
            return null;
        }

        // The server of a path has its lock file under the whole name.
        bool isPath = File.Exists(socketPath + SocketAddress.LockSuffix);
        LockHolder holder = RendezvousLock.HolderOf(isPath
            ? socketPath + SocketAddress.LockSuffix
            : System.IO.Path.ChangeExtension(socketPath, SocketAddress.LockSuffix));
        bool isAlive = state == SocketPathState.Live;
        return new Endpoint(
            isPath ? Scheme + socketPath : AddressOf(socketPath),
            socketPath,
            isAlive,
            new DateTimeOffset(File.GetLastWriteTimeUtc(socketPath)))
        {
            ProcessId = holder.ProcessId,
            Version = holder.Version,
            Process = isAlive && holder.ProcessId is { } process ? ProcessName.Of(process) : null,
            Connections = isAlive && connections is not null && connections.TryGetValue(socketPath, out int count)
                ? count
                : null,
        };
    }

    // A long name is hashed in the file's name; such a server is reached by the path.
    private static string AddressOf(string socketPath)
    {
        string name = System.IO.Path.GetFileNameWithoutExtension(socketPath).Replace('+', '/');
        return name.AsSpan().ContainsAnyExcept(RendezvousAddress.NameCharsAndSlash)
            ? Scheme + socketPath
            : Scheme + name;
    }

    // The system names each accepted socket like the one that it was accepted from. A server that is not in the table
    // is of another network namespace.
    private static Dictionary<string, int>? CountConnections()
    {
        try
        {
            return File.ReadLines("/proc/net/unix").Skip(1)
                .Select(line => line.Split(' ', 8, StringSplitOptions.RemoveEmptyEntries))
                .Where(columns => columns.Length == 8)
                .GroupBy(columns => columns[7])
                .ToDictionary(path => path.Key, path => path.Count(columns => columns[5] == ConnectedState));
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
