using System.Net.Sockets;
using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>
/// The socket file of a server. At every moment its permissions are at most those that its policy needs: it is created
/// for the owner alone, and then opened to the others. Only the file that the server has made is removed.
/// </summary>
internal sealed class SocketFile : IDisposable
{
    private const uint OwnerReadWrite = 0x180; // 0600
    private const uint PermissionBits = 0x1FF; // 0777

    private readonly string _path;
    private readonly PinnedFile _file;
    private readonly FileFacts _facts;

    private SocketFile(string path, PinnedFile file)
    {
        _path = path;
        _file = file;
        _facts = file.Facts;
    }

    /// <summary>Whether the path still names this file.</summary>
    /// <exception cref="IOException">The directory may not be searched.</exception>
    public bool IsInPlace => FileFacts.OfPath(_path) is { } found && found.IsSameFileAs(_facts);

    /// <summary>
    /// Prepares the directory of an address: creates the runtime directory of a name if it is missing, and checks the
    /// permissions. The directory of a path is checked only if other users are let in.
    /// </summary>
    /// <exception cref="IOException">The directory cannot be created, or its permissions are wrong.</exception>
    public static void PrepareDirectory(SocketAddress address, AccessPolicy access)
    {
        string directory = Path.GetDirectoryName(address.SocketPath)!;
        if (address.IsInRuntimeDirectory)
        {
            try
            {
                RuntimeDirectory.Ensure(directory, access);
            }
            catch (IOException exception) when (address.Default is { Reason: { } reason })
            {
                // The user has not named this directory, so the text says who has.
                throw new IOException(
                    $"{exception.Message} {reason}; set RuntimeDirectory on both sides to use another directory.",
                    exception);
            }
        }
        else if (access.IsShared)
        {
            RuntimeDirectory.CheckHolder(directory, "of a socket that other users share");
        }
    }

    /// <summary>Looks what stands at a path. Nobody notices that: no connection is made.</summary>
    /// <exception cref="IOException">The directory may not be searched.</exception>
    public static SocketPathState StateOf(string path)
    {
        if (FileFacts.OfPath(path) is not { } facts)
        {
            return SocketPathState.Free;
        }

        return (facts.IsSocket ? SocketCalls.IsBound(path) : null) switch
        {
            true => SocketPathState.Live,
            false => SocketPathState.Dead,

            // It may have been removed between the two looks.
            null => FileFacts.OfPath(path) is null ? SocketPathState.Free : SocketPathState.Other,
        };
    }

    /// <summary>
    /// Removes the socket of a dead server. The lock, which the caller holds, excludes a live server of this library
    /// but not another program, so only a socket that no process has is removed. Returns what stands there then.
    /// </summary>
    /// <exception cref="IOException">The system refused it.</exception>
    /// <exception cref="UnauthorizedAccessException">This user may not remove it.</exception>
    public static SocketPathState ClearPath(string path)
    {
        SocketPathState state = StateOf(path);
        if (state != SocketPathState.Dead)
        {
            return state;
        }

        File.Delete(path);
        return SocketPathState.Free;
    }

    /// <summary>
    /// Limits a socket that is not bound yet. The kernel gives the file of a socket the socket's own permissions, so
    /// there is no moment between the creation of the file and a change of its permissions.
    /// </summary>
    /// <exception cref="IOException">The system refused it.</exception>
    public static void Restrict(Socket socket)
    {
        if (LinuxNative.FChMod(socket.SafeHandle, OwnerReadWrite) != 0)
        {
            throw new IOException($"Cannot restrict the socket to its owner: {LinuxNative.LastErrorText()}.");
        }
    }

    /// <summary>Takes the file of a socket that was restricted and bound, and opens it to others as needed.</summary>
    /// <exception cref="IOException">
    /// The file at the path is not the one that was made, or its permissions cannot be changed.
    /// </exception>
    public static SocketFile Take(string path, AccessPolicy access)
    {
        PinnedFile file = PinnedFile.Open(path);
        try
        {
            FileFacts made = file.Facts;
            if (!made.IsSocket
                || made.UserId != LinuxNative.GetEffectiveUserId()
                || (made.Mode & PermissionBits & ~OwnerReadWrite) != 0)
            {
                throw new IOException(
                    $"'{path}' is not the socket that was made there a moment ago: it belongs to user {made.UserId} "
                    + $"and has mode {made.ModeText}. Another program changes this directory.");
            }

            if (SocketModes.GroupOf(access) is { } group)
            {
                file.SetGroup(group.Number);
            }

            file.SetMode(SocketModes.OfSocket(access));
            return new SocketFile(path, file);
        }
        catch
        {
            file.Dispose();
            throw;
        }
    }

    /// <summary>Removes the file. A file that has taken its place stays.</summary>
    public void Dispose()
    {
        RuntimeDirectory.Remove(_path, _facts);
        _file.Dispose();
    }
}

/// <summary>The kinds of what may stand at the path of a socket.</summary>
internal enum SocketPathState
{
    /// <summary>Nothing.</summary>
    Free,

    /// <summary>A socket that no process has any more.</summary>
    Dead,

    /// <summary>A socket that a process has bound, whether or not it listens.</summary>
    Live,

    /// <summary>A file that is no socket, or a socket of which the system does not tell more.</summary>
    Other,
}
