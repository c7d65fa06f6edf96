using RpcOverShm.Links;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Commands;

/// <summary>
/// The servers of a runtime directory, read from its files and the system's tables: no server notices that.
/// </summary>
/// <param name="path">The directory; null for the one that names resolve in without the option.</param>
internal sealed class EndpointDirectory(string? path)
{
    private const int ConnectedState = 3;

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

        int? id = RendezvousLock.HolderOf(
            System.IO.Path.ChangeExtension(socketPath, RendezvousAddress.LockSuffix));
        bool isAlive = state == SocketPathState.Live;
        return new Endpoint(
            AddressOf(socketPath), socketPath, isAlive, new DateTimeOffset(File.GetLastWriteTimeUtc(socketPath)))
        {
            ProcessId = id,
            Process = isAlive && id is { } process ? NameOfProcess(process) : null,
            Connections = isAlive ? connections?.GetValueOrDefault(socketPath) : null,
        };
    }

    // A long name is hashed in the file's name; such a server is reached by the path.
    private static string AddressOf(string socketPath)
    {
        string name = System.IO.Path.GetFileNameWithoutExtension(socketPath).Replace('+', '/');
        return name.AsSpan().ContainsAnyExcept(RuntimeDirectory.NameCharsAndSlash)
            ? "shm://" + socketPath
            : "shm://" + name;
    }

    private static string? NameOfProcess(int id)
    {
        try
        {
            return File.ReadAllText($"/proc/{id}/comm").TrimEnd('\n');
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    // The system names each accepted socket like the one that it was accepted from.
    private static Dictionary<string, int>? CountConnections()
    {
        try
        {
            return File.ReadLines("/proc/net/unix").Skip(1)
                .Select(line => line.Split(' ', 8, StringSplitOptions.RemoveEmptyEntries))
                .Where(columns => columns.Length == 8 && columns[5] == $"{ConnectedState:00}")
                .CountBy(columns => columns[7]).ToDictionary();
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
